package resources

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"
)

// kindListenerSet is the kind of the parents of routes to own listeners.
const kindListenerSet = "ListenerSet"

// ListenerSets builds the listeners of a Website at its Gateway: one for HTTP and one for
// HTTPS per host.
func (r *HostRoutes) ListenerSets() []*gatewayv1ac.ListenerSetApplyConfiguration {
	if !r.OwnListeners {
		return nil
	}
	var sets []*gatewayv1ac.ListenerSetApplyConfiguration
	for i, hosts := range r.groups() {
		spec := gatewayv1ac.ListenerSetSpec().WithParentRef(gatewayv1ac.ParentGatewayReference().
			WithGroup(gatewayv1.GroupName).WithKind("Gateway").
			WithName(gatewayv1.ObjectName(r.Gateway.Name)).WithNamespace(gatewayv1.Namespace(r.Gateway.Namespace)))
		for _, host := range hosts {
			spec.WithListeners(
				r.listener("http", host, gatewayv1.HTTPProtocolType),
				r.listener("https", host, gatewayv1.HTTPSProtocolType).WithTLS(r.certificate(host)))
		}
		sets = append(sets, gatewayv1ac.ListenerSet(groupName(r.Website, i), r.Website.Namespace).
			WithLabels(supportLabels(r.Website)).
			WithAnnotations(issuerAnnotations(r.Website)).
			WithOwnerReferences(ownerReference(r.Website)).
			WithSpec(spec))
	}
	return sets
}

func (r *HostRoutes) listener(name, host string, protocol gatewayv1.ProtocolType) *gatewayv1ac.ListenerEntryApplyConfiguration {
	return gatewayv1ac.ListenerEntry().
		WithName(sectionName(name, host)).
		WithHostname(gatewayv1.Hostname(host)).
		WithPort(gatewayv1.PortNumber(r.Port(protocol))).
		WithProtocol(protocol).
		WithAllowedRoutes(gatewayv1ac.AllowedRoutes().WithNamespaces(gatewayv1ac.RouteNamespaces().WithFrom(gatewayv1.NamespacesFromSame)))
}

func (r *HostRoutes) certificate(host string) *gatewayv1ac.ListenerTLSConfigApplyConfiguration {
	return gatewayv1ac.ListenerTLSConfig().
		WithMode(gatewayv1.TLSModeTerminate).
		WithCertificateRefs(gatewayv1ac.SecretObjectReference().WithGroup("").WithKind("Secret").
			WithName(gatewayv1.ObjectName(CertificateSecretName(r.Website, host))))
}
