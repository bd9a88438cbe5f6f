package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// HostNames returns the names of the hosts, in an order that is independent of the spec. Hosts that
// were reported before keep their positions, so that a new host does not move others from one route
// to another.
func HostNames(website *v1beta1.Website) []string {
	var names []string
	for i := range website.Spec.Hosts {
		names = append(names, website.Spec.Hosts[i].Name)
	}
	slices.Sort(names)
	if len(website.Status.Hosts) == 0 {
		return names
	}
	reported := map[string]int{}
	for i := range website.Status.Hosts {
		reported[website.Status.Hosts[i].Name] = i
	}
	position := func(name string) int {
		if i, found := reported[name]; found {
			return i
		}
		return math.MaxInt
	}
	slices.SortStableFunc(names, func(a, b string) int { return position(a) - position(b) })
	return names
}

// RoleOf returns the role of a host of the spec.
func RoleOf(website *v1beta1.Website, name string) v1beta1.HostRole {
	for i := range website.Spec.Hosts {
		if host := &website.Spec.Hosts[i]; host.Name == name {
			return host.Role
		}
	}
	return v1beta1.HostRoleAlias
}

// Canonical returns the host to which the others may be redirected, or "". It is no host of another
// Website: that would send requests to the other site.
func Canonical(website *v1beta1.Website, hosts []string) string {
	for _, host := range hosts {
		if RoleOf(website, host) == v1beta1.HostRoleCanonical {
			return host
		}
	}
	return ""
}

// RedirectedHosts returns the hosts that should be redirected to the canonical one.
func RedirectedHosts(website *v1beta1.Website, hosts []string) []string {
	return slices.DeleteFunc(slices.Clone(hosts),
		func(host string) bool { return RoleOf(website, host) != v1beta1.HostRoleRedirect })
}

// WantsTLS reports whether the hosts of a Website are served with TLS only, except for tls.redirect.
func WantsTLS(website *v1beta1.Website) bool { return website.Spec.TLS != nil }

// WantsListeners reports whether a Website names its certificate, which needs listeners of its own.
func WantsListeners(website *v1beta1.Website) bool {
	return website.Spec.TLS != nil && website.Spec.TLS.Mode != v1beta1.TLSModeListener
}

// RedirectsToHTTPS reports whether requests without TLS are redirected.
func RedirectsToHTTPS(website *v1beta1.Website) bool {
	return website.Spec.TLS != nil && ptr.Deref(website.Spec.TLS.Redirect, true)
}

// groupName returns the name of the children for a group of hosts. It is unique, since names of
// Deployments have no dots.
func groupName(website *v1beta1.Website, group int) string {
	name := DeploymentName(website)
	if group > 0 {
		name += "." + strconv.Itoa(group)
	}
	return name
}

// DeploymentNameOfRoute returns the deployment name in the name of an HTTPRoute, ListenerSet
// or Ingress.
func DeploymentNameOfRoute(name string) (string, bool) {
	deployment, _, _ := strings.Cut(name, ".")
	return deployment, deployment != ""
}

// CertificateSecretName returns the name of the Secret with the certificate of a host: the Secret in
// the spec, the one that an issuer fills, or "". With a Secret per host, a certificate that cannot be
// issued does not block the other hosts.
func CertificateSecretName(website *v1beta1.Website, host string) string {
	switch tls := website.Spec.TLS; {
	case !WantsListeners(website):
		return ""
	case tls.SecretRef != nil:
		return tls.SecretRef.Name
	default:
		return DeploymentName(website) + "." + shortHash(host) + ".tls"
	}
}

func shortHash(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:])[:configHashLength]
}

// issuerAnnotations are the annotations by which cert-manager issues the certificates of a
// ListenerSet or an Ingress.
func issuerAnnotations(website *v1beta1.Website) map[string]string {
	if website.Spec.TLS == nil || website.Spec.TLS.IssuerRef == nil {
		return nil
	}
	issuer := website.Spec.TLS.IssuerRef
	switch {
	case issuer.Group != v1beta1.CertManagerGroup:
		return map[string]string{
			"cert-manager.io/issuer": issuer.Name, "cert-manager.io/issuer-kind": issuer.Kind,
			"cert-manager.io/issuer-group": issuer.Group,
		}
	case issuer.Kind == v1beta1.KindOfClusterIssuer:
		return map[string]string{"cert-manager.io/cluster-issuer": issuer.Name}
	case issuer.Kind == v1beta1.KindOfIssuer:
		return map[string]string{"cert-manager.io/issuer": issuer.Name}
	default:
		return map[string]string{"cert-manager.io/issuer": issuer.Name, "cert-manager.io/issuer-kind": issuer.Kind}
	}
}
