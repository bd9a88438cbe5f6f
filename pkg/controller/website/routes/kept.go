package routes

import (
	"slices"

	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// keptHosts are hosts whose former routes stay, because they cannot be routed as desired. A route
// that is also for a host of another Website would take its visitors, so it does not stay. Nor does a
// route without TLS of a Website with a certificate, which would send passwords in the clear.
type keptHosts struct {
	obstructed []string
	taken      map[string]string
}

func (k keptHosts) ingresses(ingresses []*cached.Ingress) []string {
	return namesWithHosts(ingresses, func(ingress *cached.Ingress) []string { return ingress.Hosts }, k)
}

func (k keptHosts) httpRoutes(routes []*cached.HTTPRoute) []string {
	return namesWithHosts(routes, func(route *cached.HTTPRoute) []string { return route.Hosts }, k)
}

func (k keptHosts) listenerSets(sets []*cached.ListenerSet) []string {
	return namesWithHosts(sets, func(set *cached.ListenerSet) []string { return set.Hosts }, k)
}

// namesWithHosts returns the names of the children whose routes stay.
func namesWithHosts[T cached.Kept](routes []T, hostsOf func(T) []string, kept keptHosts) []string {
	var names []string
	for _, route := range routes {
		hosts := hostsOf(route)
		isObstructed := slices.ContainsFunc(hosts, func(host string) bool { return slices.Contains(kept.obstructed, host) })
		isTaken := slices.ContainsFunc(hosts, func(host string) bool { return kept.taken[host] != "" })
		if isObstructed && !isTaken {
			names = append(names, route.GetName())
		}
	}
	return names
}

// isPlainIngress reports whether an Ingress serves its hosts without TLS.
func isPlainIngress(ingress *cached.Ingress) bool { return !ingress.TLS }

// isPlain returns a predicate for HTTPRoutes that may serve their hosts without TLS: at a Gateway,
// unless they name a listener with TLS. The listeners of ListenerSets that serve have TLS.
func isPlain(
	gatewayOf func(namespace, name string) (gateway *gatewayv1.Gateway, watched bool),
) func(*cached.HTTPRoute) bool {
	return func(route *cached.HTTPRoute) bool {
		return !resources.IsRedirectToHTTPS(route.Name) &&
			slices.ContainsFunc(route.Parents, func(parent gatewayv1.ParentReference) bool {
				if ptr.Deref(parent.Kind, "Gateway") != "Gateway" {
					return false
				}
				gateway, watched := gatewayOf(string(ptr.Deref(parent.Namespace, gatewayv1.Namespace(route.Namespace))),
					string(parent.Name))
				if gateway == nil {
					return !watched // Where there is none, nothing is served.
				}
				return !slices.ContainsFunc(gateway.Spec.Listeners, func(listener gatewayv1.Listener) bool {
					return parent.SectionName != nil && listener.Name == *parent.SectionName &&
						listener.Protocol == gatewayv1.HTTPSProtocolType
				})
			})
	}
}
