package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// hostsOfRoute is how many hosts an HTTPRoute may have. A ListenerSet has two listeners
	// for each, half as many as it may.
	hostsOfRoute = 16

	webPort    int32 = 80
	webTLSPort int32 = 443
)

// HostRoutes is how a Gateway routes the hosts of a Website.
type HostRoutes struct {
	Website *v1beta1.Website
	// Hosts are those of the spec that the Website has, in the same order.
	Hosts []string
	// Gateway routes them.
	Gateway *gatewayv1.Gateway
	// OwnListeners is true where the Website has listeners of its own, in ListenerSets.
	OwnListeners bool
}

// WantsTLS reports whether a Website names its certificate.
func WantsTLS(website *v1beta1.Website) bool {
	return website.Spec.TLS != (v1beta1.WebsiteTLS{})
}

// Canonical returns the host to which the others are redirected, or "". One that another
// Website has is none: that would send requests to the other site.
func Canonical(website *v1beta1.Website, hosts []string) string {
	if !website.Spec.RedirectToCanonical || len(hosts) < 2 || hosts[0] != website.Spec.Hosts[0] {
		return ""
	}
	return hosts[0]
}

// Port returns the port of a Gateway for a protocol: that of its first listener, or the
// default.
func (r *HostRoutes) Port(protocol gatewayv1.ProtocolType) int32 {
	for _, listener := range r.Gateway.Spec.Listeners {
		if listener.Protocol == protocol {
			return int32(listener.Port)
		}
	}
	if protocol == gatewayv1.HTTPSProtocolType {
		return webTLSPort
	}
	return webPort
}

// TLSPort returns the port at which a host is served with TLS.
func (r *HostRoutes) TLSPort(host string) int32 {
	if listener := r.secureListener(host); listener != nil && !r.OwnListeners {
		return int32(listener.Port)
	}
	return r.Port(gatewayv1.HTTPSProtocolType)
}

// secureListener returns the first HTTPS listener of the Gateway for a host, or nil.
func (r *HostRoutes) secureListener(host string) *gatewayv1.Listener {
	for i := range r.Gateway.Spec.Listeners {
		if listener := &r.Gateway.Spec.Listeners[i]; listener.Protocol == gatewayv1.HTTPSProtocolType && takes(*listener, host) {
			return listener
		}
	}
	return nil
}

// IsSecured reports whether a host is served with TLS, if the Website names its certificate.
func (r *HostRoutes) IsSecured(host string) bool {
	return !WantsTLS(r.Website) || r.OwnListeners || r.secureListener(host) != nil
}

// Listeners returns the HTTP and HTTPS listeners of the Gateway that take requests for a
// host by themselves.
func (r *HostRoutes) Listeners(host string) []gatewayv1.Listener {
	section := ""
	if gateway := r.Website.Spec.Routing.Gateway; gateway != nil {
		section = gateway.SectionName
	}
	return slices.DeleteFunc(slices.Clone(r.Gateway.Spec.Listeners), func(listener gatewayv1.Listener) bool {
		return section != "" && string(listener.Name) != section || !takes(listener, host) ||
			listener.Protocol != gatewayv1.HTTPProtocolType && listener.Protocol != gatewayv1.HTTPSProtocolType
	})
}

// takes reports whether the name of a listener and a host have names in common.
func takes(listener gatewayv1.Listener, host string) bool {
	if listener.Hostname == nil || *listener.Hostname == "" {
		return true
	}
	name := string(*listener.Hostname)
	return name == host || below(host, name) || below(name, host)
}

// below reports whether a wildcard stands for a name, which may be a wildcard as well.
func below(name, wildcard string) bool {
	suffix, isWildcard := strings.CutPrefix(wildcard, "*")
	return isWildcard && strings.HasSuffix(name, suffix)
}

// groups divides the hosts so that each group fits into one HTTPRoute and ListenerSet.
func (r *HostRoutes) groups() [][]string {
	return slices.Collect(slices.Chunk(r.Hosts, hostsOfRoute))
}

// groupName is the name of the children for a group of hosts. No other Website's child has
// it: names of Deployments have no dots.
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

// sectionName is the name of the listener for a host. A wildcard does not have the name of
// any other host.
func sectionName(protocol, host string) gatewayv1.SectionName {
	if suffix, isWildcard := strings.CutPrefix(host, "*"); isWildcard {
		return gatewayv1.SectionName(protocol + "-any" + suffix)
	}
	return gatewayv1.SectionName(protocol + "." + host)
}

// CertificateSecretName is the name of the Secret with the certificate of a host: that of
// the spec, or the one that an issuer fills. A Secret per host keeps one host whose
// certificate cannot be issued from holding up the others.
func CertificateSecretName(website *v1beta1.Website, host string) string {
	if website.Spec.TLS.SecretRef != nil {
		return website.Spec.TLS.SecretRef.Name
	}
	hash := sha256.Sum256([]byte(host))
	return DeploymentName(website) + "." + hex.EncodeToString(hash[:])[:configHashLength] + ".tls"
}

// issuerAnnotations are those by which cert-manager issues the certificates of a
// ListenerSet or an Ingress.
func issuerAnnotations(website *v1beta1.Website) map[string]string {
	issuer := website.Spec.TLS.IssuerRef
	switch {
	case issuer == nil:
		return nil
	case issuer.Kind == v1beta1.IssuerKindClusterIssuer:
		return map[string]string{"cert-manager.io/cluster-issuer": issuer.Name}
	default:
		return map[string]string{"cert-manager.io/issuer": issuer.Name}
	}
}

// parentReference returns a reference with the values that the API server would set by
// default: the list of references is compared as a whole.
func parentReference(kind string) *gatewayv1ac.ParentReferenceApplyConfiguration {
	return gatewayv1ac.ParentReference().WithGroup(gatewayv1.GroupName).WithKind(gatewayv1.Kind(kind))
}
