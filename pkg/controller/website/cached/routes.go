package cached

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// maxRules is more than the maximum number of hosts of a Website. Each has a rule in an Ingress.
const maxRules = 100

// Ingress is the cached form of an Ingress.
type Ingress struct {
	Meta
	// Class is nil if the Ingress names none.
	Class *string
	Hosts []string
	// TLS is true if any host is served with TLS.
	TLS bool
	// Addresses are the addresses that its controller reports.
	Addresses []networkingv1.IngressLoadBalancerIngress
}

// OfIngress returns the cached form of an Ingress.
func OfIngress(ingress *networkingv1.Ingress) *Ingress {
	kept := &Ingress{
		Meta: metaOf(ingress, Ingresses), Class: ingress.Spec.IngressClassName, TLS: len(ingress.Spec.TLS) > 0,
		Addresses: ingress.Status.LoadBalancer.Ingress,
	}
	for _, rule := range firstOf(ingress.Spec.Rules, maxRules) {
		kept.Hosts = append(kept.Hosts, rule.Host)
	}
	return kept
}

// HTTPRoute is the cached form of an HTTPRoute.
type HTTPRoute struct {
	Meta
	// Parents are the Gateways and ListenerSets of the spec, and Status has the reports of their controllers.
	Parents []gatewayv1.ParentReference
	Hosts   []string
	Status  []gatewayv1.RouteParentStatus
}

// OfHTTPRoute returns the cached form of an HTTPRoute.
func OfHTTPRoute(route *gatewayv1.HTTPRoute) *HTTPRoute {
	kept := &HTTPRoute{Meta: metaOf(route, HTTPRoutes), Parents: route.Spec.ParentRefs, Status: route.Status.Parents}
	for _, host := range route.Spec.Hostnames {
		kept.Hosts = append(kept.Hosts, string(host))
	}
	return kept
}

// ListenerSet is the cached form of a ListenerSet.
type ListenerSet struct {
	Meta
	// Hosts are the hosts of the listeners, whose number the API limits.
	Hosts []string
	// Conditions are the conditions of the ListenerSet, and Listeners have the ones of each listener.
	Conditions []metav1.Condition
	Listeners  []gatewayv1.ListenerEntryStatus
}

// OfListenerSet returns the cached form of a ListenerSet.
func OfListenerSet(set *gatewayv1.ListenerSet) *ListenerSet {
	kept := &ListenerSet{
		Meta: metaOf(set, ListenerSets), Conditions: set.Status.Conditions, Listeners: set.Status.Listeners,
	}
	for _, listener := range set.Spec.Listeners {
		kept.Hosts = append(kept.Hosts, string(ptr.Deref(listener.Hostname, "")))
	}
	return kept
}
