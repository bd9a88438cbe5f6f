package resources

import (
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// kindListenerSet is the kind of the parents of routes to own listeners.
const kindListenerSet = "ListenerSet"

// ListenerSets builds the listeners of a Website at its Gateways: one for HTTP and one for HTTPS per
// host. Only the ListenerSets at the first Gateway name the issuer: cert-manager refuses to issue a
// certificate for two objects.
func (r *HostRoutes) ListenerSets() []*gatewayv1ac.ListenerSetApplyConfiguration {
	var sets []*gatewayv1ac.ListenerSetApplyConfiguration
	annotations := issuerAnnotations(r.Website)
	for i := range r.Gateways {
		gateway := &r.Gateways[i]
		if !gateway.OwnListeners {
			continue
		}
		for group, hosts := range r.groups() {
			sets = append(sets, r.listenerSet(gateway, group, hosts).WithAnnotations(annotations))
		}
		annotations = nil
	}
	return sets
}

func (r *HostRoutes) listenerSet(gateway *Gateway, group int,
	hosts []string) *gatewayv1ac.ListenerSetApplyConfiguration {
	spec := gatewayv1ac.ListenerSetSpec().WithParentRef(gatewayv1ac.ParentGatewayReference().
		WithGroup(gatewayv1.GroupName).WithKind("Gateway").
		WithName(gatewayv1.ObjectName(gateway.Name)).WithNamespace(gatewayv1.Namespace(gateway.Namespace)))
	for _, host := range hosts {
		spec.WithListeners(
			ownListener(gateway, "http", host, gatewayv1.HTTPProtocolType),
			ownListener(gateway, "https", host, gatewayv1.HTTPSProtocolType).WithTLS(r.certificate(host)))
	}
	return gatewayv1ac.ListenerSet(listenerSetName(r.Website, gateway, group), r.Website.Namespace).
		WithLabels(supportLabels(r.Website)).
		WithOwnerReferences(ownerReference(r.Website)).
		WithSpec(spec)
}

// listenerSetName returns the name of the ListenerSet for a group of hosts at a Gateway. Another
// Gateway gets another object: the former one stays until the new one works.
func listenerSetName(website *v1beta1.Website, gateway *Gateway, group int) string {
	return groupName(website, group) + "." + shortHash(gateway.Namespace+"/"+gateway.Name)
}

// listenerOf returns a reference to the own listener of a host.
func (r *HostRoutes) listenerOf(gateway *Gateway, group int, protocol, host string) *parent {
	return parentReference(kindListenerSet).
		WithName(gatewayv1.ObjectName(listenerSetName(r.Website, gateway, group))).
		WithSectionName(sectionName(protocol, host))
}

// sectionName returns the name of the listener for a host. A wildcard and another host never have the
// same name.
func sectionName(protocol, host string) gatewayv1.SectionName {
	if suffix, isWildcard := strings.CutPrefix(host, "*"); isWildcard {
		return gatewayv1.SectionName(protocol + "-any" + suffix)
	}
	return gatewayv1.SectionName(protocol + "." + host)
}

func ownListener(gateway *Gateway, name, host string,
	protocol gatewayv1.ProtocolType) *gatewayv1ac.ListenerEntryApplyConfiguration {
	return gatewayv1ac.ListenerEntry().
		WithName(sectionName(name, host)).
		WithHostname(gatewayv1.Hostname(host)).
		WithPort(gatewayv1.PortNumber(gateway.port(protocol))).
		WithProtocol(protocol).
		WithAllowedRoutes(
			gatewayv1ac.AllowedRoutes().WithNamespaces(gatewayv1ac.RouteNamespaces().WithFrom(gatewayv1.NamespacesFromSame)),
		)
}

func (r *HostRoutes) certificate(host string) *gatewayv1ac.ListenerTLSConfigApplyConfiguration {
	return gatewayv1ac.ListenerTLSConfig().
		WithMode(gatewayv1.TLSModeTerminate).
		WithCertificateRefs(gatewayv1ac.SecretObjectReference().WithGroup("").WithKind("Secret").
			WithName(gatewayv1.ObjectName(CertificateSecretName(r.Website, host))))
}
