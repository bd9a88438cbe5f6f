package options

import (
	"errors"
	"net/http"

	"k8s.io/apiserver/pkg/server/healthz"
)

// certificateAuthority is what is trusted at the moment. It is the part of
// dynamiccertificates.CAContentProvider that the check needs.
type certificateAuthority interface {
	CurrentCABundleContent() []byte
}

// newProxyTrustCheck keeps the server from being ready before it knows whom to
// trust as the aggregator's proxy. It learns that from the cluster shortly
// after it has started to serve; until then every user would be taken for
// anonymous, and be refused instead of asked to try again.
func newProxyTrustCheck(proxyCA certificateAuthority) healthz.HealthChecker {
	return healthz.NamedCheck("requestheader-client-ca", func(*http.Request) error {
		if len(proxyCA.CurrentCABundleContent()) == 0 {
			return errors.New("the certificate authority of the aggregator's proxy is not known yet: see configmap kube-system/extension-apiserver-authentication")
		}
		return nil
	})
}
