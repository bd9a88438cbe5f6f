package routes

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// routedChildren are the children of a Website that route its hosts.
type routedChildren struct {
	HTTPRoutes []*gatewayv1.HTTPRoute
	Ingresses  []*networkingv1.Ingress
}

// Hosts returns the hosts that the children route.
func (c routedChildren) Hosts() []string {
	var hosts []string
	for _, route := range c.HTTPRoutes {
		hosts = append(hosts, httpRouteHosts(route)...)
	}
	for _, ingress := range c.Ingresses {
		hosts = append(hosts, hostsOfIngress(ingress)...)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Accept reports whether the controller of a Gateway or an Ingress has accepted all children that
// route a host.
func (c routedChildren) Accept(host string) bool {
	routed := false
	for _, route := range c.HTTPRoutes {
		if !slices.Contains(route.Spec.Hostnames, gatewayv1.Hostname(host)) {
			continue
		}
		for _, found := range routeObstacles([]*gatewayv1.HTTPRoute{route}) {
			if found != nil {
				return false
			}
		}
		routed = true
	}
	for _, ingress := range c.Ingresses {
		if !slices.Contains(hostsOfIngress(ingress), host) {
			continue
		}
		if ingressObstacle(ingress) != nil {
			return false
		}
		routed = true
	}
	return routed
}

// hostsOfIngress returns the hosts of the rules of an Ingress.
func hostsOfIngress(ingress *networkingv1.Ingress) []string {
	var hosts []string
	for _, rule := range ingress.Spec.Rules {
		hosts = append(hosts, rule.Host)
	}
	return hosts
}
