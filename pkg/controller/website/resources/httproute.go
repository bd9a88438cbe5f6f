package resources

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const (
	// suffixCanonical and suffixHTTPS are the suffixes of the names of redirect routes.
	suffixCanonical = ".canonical"
	suffixHTTPS     = ".https"

	// maxParents is the maximum number of parents of an HTTPRoute.
	maxParents = 32
	// maxHostsOfRoute is the maximum number of hosts of an HTTPRoute. A ListenerSet has two listeners
	// for each, half of its maximum.
	maxHostsOfRoute = 16
)

type (
	httpRoute       = gatewayv1ac.HTTPRouteApplyConfiguration
	httpRouteFilter = gatewayv1ac.HTTPRouteFilterApplyConfiguration
	parent          = gatewayv1ac.ParentReferenceApplyConfiguration
	parents         = []*parent
)

// HostRoutes has the Gateways and the hosts that they route for a Website.
type HostRoutes struct {
	Website *v1beta1.Website
	// Hosts are the hosts of the spec that the Website owns, in the order of HostNames.
	Hosts []string
	// Gateways route them, sorted by name.
	Gateways []Gateway
}

// IsSecured reports whether a host is served with TLS, if it should be.
func (r *HostRoutes) IsSecured(host string) bool {
	return !WantsTLS(r.Website) ||
		slices.ContainsFunc(r.Gateways, func(gateway Gateway) bool { return gateway.Secures(host) })
}

// groups divides the hosts so that each group fits into one HTTPRoute, with two listeners for each
// host at each Gateway of the spec: a missing Gateway moves no host to another group.
func (r *HostRoutes) groups() [][]string {
	gateways := max(1, len(r.Website.Spec.Routing.ParentRefs))
	return slices.Collect(slices.Chunk(r.Hosts, min(maxHostsOfRoute, maxParents/2/gateways)))
}

// HTTPRoutes builds the routes of a Website: for each group of hosts one to the Service and, if
// configured, redirects to the canonical host and to https.
func (r *HostRoutes) HTTPRoutes() []*httpRoute {
	canonical := Canonical(r.Website, r.Hosts)
	var routes []*httpRoute
	for i, hosts := range r.groups() {
		name, served, redirected := groupName(r.Website, i), hosts, []string(nil)
		if canonical != "" {
			redirected = RedirectedHosts(r.Website, hosts)
			served = slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return slices.Contains(redirected, host) })
		}
		// A listener for none of its hosts does not accept a route.
		if len(served) > 0 {
			routes = append(routes, r.servingRoute(i, name, served))
			routes = append(routes, r.routesToHTTPS(i, name, served)...)
		}
		if len(redirected) > 0 {
			routes = append(routes, r.routesToCanonical(i, name, redirected, canonical)...)
		}
	}
	return routes
}

// servingRoute leads to the Service.
func (r *HostRoutes) servingRoute(group int, name string, hosts []string) *httpRoute {
	secure, plain := r.parents(group, hosts, r.Gateways)
	if !RedirectsToHTTPS(r.Website) {
		secure = append(secure, plain...)
	}
	return r.route(name, hosts, secure, gatewayv1ac.HTTPRouteRule().WithBackendRefs(serviceBackend(r.Website)))
}

// routesToHTTPS redirect requests without TLS.
func (r *HostRoutes) routesToHTTPS(group int, name string, hosts []string) []*httpRoute {
	if !RedirectsToHTTPS(r.Website) {
		return nil
	}
	var routes []*httpRoute
	for n, to := range r.redirections(hosts, "") {
		if _, plain := r.parents(group, to.hosts, to.gateways); len(plain) > 0 {
			rule := gatewayv1ac.HTTPRouteRule().WithFilters(redirectFilterHTTPS("", to.port))
			routes = append(routes, r.route(indexed(name+suffixHTTPS, n), to.hosts, plain, rule))
		}
	}
	return routes
}

// routesToCanonical redirect requests with and without TLS to another host.
func (r *HostRoutes) routesToCanonical(group int, name string, hosts []string, canonical string) []*httpRoute {
	if !WantsTLS(r.Website) {
		secure, plain := r.parents(group, hosts, r.Gateways)
		rule := gatewayv1ac.HTTPRouteRule().WithFilters(redirectFilter(canonical))
		return []*httpRoute{r.route(name+suffixCanonical, hosts, append(secure, plain...), rule)}
	}
	var routes []*httpRoute
	for n, to := range r.redirections(hosts, canonical) {
		secure, plain := r.parents(group, to.hosts, to.gateways)
		if len(secure)+len(plain) == 0 {
			continue
		}
		// The listener of the canonical host may have another port than the listener of the
		// redirected one.
		rule := gatewayv1ac.HTTPRouteRule().WithFilters(redirectFilterHTTPS(canonical, to.port))
		routes = append(routes, r.route(indexed(name+suffixCanonical, n), to.hosts, append(secure, plain...), rule))
	}
	return routes
}

func indexed(name string, n int) string {
	if n > 0 {
		name += "-" + strconv.Itoa(n)
	}
	return name
}

// redirection has the hosts and the Gateways whose visitors are redirected to one port.
type redirection struct {
	port     int32
	hosts    []string
	gateways []Gateway
}

// redirections divides hosts by the port with TLS to which they are redirected: the port of another
// host or, if that is "", their own.
func (r *HostRoutes) redirections(hosts []string, to string) []redirection {
	var all []redirection
	for _, gateway := range r.Gateways {
		for _, found := range gateway.redirections(hosts, to) {
			i := slices.IndexFunc(all, func(known redirection) bool {
				return known.port == found.port && slices.Equal(known.hosts, found.hosts)
			})
			if i < 0 {
				i, all = len(all), append(all, found)
			}
			all[i].gateways = append(all[i].gateways, gateway)
		}
	}
	return all
}

func (g *Gateway) redirections(hosts []string, to string) []redirection {
	if to != "" {
		return []redirection{{port: g.TLSPort(to), hosts: hosts}}
	}
	var ports []redirection
	for _, host := range hosts {
		port := g.TLSPort(host)
		i := slices.IndexFunc(ports, func(known redirection) bool { return known.port == port })
		if i < 0 {
			i, ports = len(ports), append(ports, redirection{port: port})
		}
		ports[i].hosts = append(ports[i].hosts, host)
	}
	return ports
}

func (r *HostRoutes) route(
	name string, hosts []string, at parents, rule *gatewayv1ac.HTTPRouteRuleApplyConfiguration,
) *httpRoute {
	spec := gatewayv1ac.HTTPRouteSpec().WithParentRefs(at[:min(len(at), maxParents)]...)
	for _, host := range hosts {
		spec.WithHostnames(gatewayv1.Hostname(host))
	}
	// The defaults of the API server are set: lists are compared as a whole.
	spec.WithRules(rule.WithMatches(gatewayv1ac.HTTPRouteMatch().
		WithPath(gatewayv1ac.HTTPPathMatch().WithType(gatewayv1.PathMatchPathPrefix).WithValue("/"))))
	return gatewayv1ac.HTTPRoute(name, r.Website.Namespace).
		WithLabels(supportLabels(r.Website)).
		WithOwnerReferences(ownerReference(r.Website)).
		WithSpec(spec)
}

// redirectFilter returns a redirect to a host, or to the requested one if host is empty.
func redirectFilter(host string) *httpRouteFilter {
	to := gatewayv1ac.HTTPRequestRedirectFilter().WithStatusCode(http.StatusMovedPermanently)
	if host != "" {
		to.WithHostname(gatewayv1.PreciseHostname(host))
	}
	return gatewayv1ac.HTTPRouteFilter().WithType(gatewayv1.HTTPRouteFilterRequestRedirect).WithRequestRedirect(to)
}

// redirectFilterHTTPS returns a redirect to a port with TLS.
func redirectFilterHTTPS(host string, port int32) *httpRouteFilter {
	filter := redirectFilter(host)
	filter.RequestRedirect.WithScheme("https")
	if port != webTLSPort {
		filter.RequestRedirect.WithPort(gatewayv1.PortNumber(port))
	}
	return filter
}

// IsRedirectToHTTPS reports whether an HTTPRoute of this name only redirects to https.
func IsRedirectToHTTPS(name string) bool { return strings.Contains(name, suffixHTTPS) }

func serviceBackend(website *v1beta1.Website) *gatewayv1ac.HTTPBackendRefApplyConfiguration {
	return gatewayv1ac.HTTPBackendRef().WithGroup("").WithKind("Service").
		WithName(gatewayv1.ObjectName(ServiceName(website))).WithPort(ServicePort).WithWeight(1)
}

// parents returns the listeners at which Gateways accept requests for a group of hosts. Listeners
// without TLS are separate if the hosts should have TLS: pages and passwords must not be sent in the
// clear.
func (r *HostRoutes) parents(group int, hosts []string, gateways []Gateway) (secure, plain parents) {
	for i := range gateways {
		switch gateway := &gateways[i]; {
		case gateway.OwnListeners:
			for _, host := range hosts {
				secure = append(secure, r.listenerOf(gateway, group, "https", host))
				plain = append(plain, r.listenerOf(gateway, group, "http", host))
			}
		case WantsTLS(r.Website):
			withTLS, without := gateway.listenersOf(hosts)
			secure, plain = append(secure, withTLS...), append(plain, without...)
		default:
			secure = append(secure, gateway.sections()...)
		}
	}
	return secure, plain
}
