package routes

import (
	"slices"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// routedChildren are the children of a Website that route its hosts.
type routedChildren struct {
	HTTPRoutes []*cached.HTTPRoute
	Ingresses  []*cached.Ingress
}

// Hosts returns the hosts that the children route.
func (c routedChildren) Hosts() []string {
	var hosts []string
	for _, route := range c.HTTPRoutes {
		hosts = append(hosts, route.Hosts...)
	}
	for _, ingress := range c.Ingresses {
		hosts = append(hosts, ingress.Hosts...)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Accept reports whether the controller of a Gateway or an Ingress has accepted all children that
// route a host.
func (c routedChildren) Accept(host string) bool {
	var found []*status.Obstacle
	for _, route := range c.HTTPRoutes {
		if slices.Contains(route.Hosts, host) {
			found = append(found, routeObstacles([]*cached.HTTPRoute{route})...)
		}
	}
	for _, ingress := range c.Ingresses {
		if slices.Contains(ingress.Hosts, host) {
			found = append(found, ingressObstacle(ingress))
		}
	}
	return len(found) > 0 && !slices.ContainsFunc(found, func(o *status.Obstacle) bool { return o != nil })
}
