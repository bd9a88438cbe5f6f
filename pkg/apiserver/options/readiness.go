package options

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/apiserver/pkg/server/healthz"
)

// certificateAuthority is what is trusted at the moment. It is the part of
// dynamiccertificates.CAContentProvider that the checks need.
type certificateAuthority interface {
	CurrentCABundleContent() []byte
}

// newProxyTrustCheck keeps the server from being ready before it knows whom to
// trust as the aggregator's proxy, and in which headers that names users. It
// learns that from the cluster shortly after it has started to serve; until then
// every user would be taken for anonymous, and be refused instead of asked to
// try again.
func newProxyTrustCheck(proxyCA certificateAuthority, usernameHeaders func() []string) healthz.HealthChecker {
	return healthz.NamedCheck("requestheader-client-ca", func(*http.Request) error {
		switch {
		case len(proxyCA.CurrentCABundleContent()) == 0:
			return fmt.Errorf("the certificate authority of the aggregator's proxy is not known yet: see %s", trustConfigMap)
		case len(usernameHeaders()) == 0:
			return fmt.Errorf("the headers in which the aggregator's proxy names users are not known yet: see %s", trustConfigMap)
		}
		return nil
	})
}

// newClientTrustCheck does the same for those who come to the server's own port
// with a client certificate. A cluster need not have any: published tells
// whether there is an authority to wait for, and is asked until the answer is
// known once.
func newClientTrustCheck(clientCA certificateAuthority, published func(context.Context) (bool, error)) healthz.HealthChecker {
	var nothingToWaitFor atomic.Bool
	return healthz.NamedCheck("client-ca", func(r *http.Request) error {
		if nothingToWaitFor.Load() || len(clientCA.CurrentCABundleContent()) > 0 {
			return nil
		}
		wait, err := published(r.Context())
		if err != nil {
			return err
		}
		if wait {
			return errors.New("the certificate authority of clients is not known yet")
		}
		nothingToWaitFor.Store(true)
		return nil
	})
}
