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
	// suffixCanonical and suffixHTTPS follow the names of routes that redirect.
	suffixCanonical = ".canonical"
	suffixHTTPS     = ".https"

	// maxParents is how many parents an HTTPRoute may have.
	maxParents = 32
)

type (
	httpRoute       = gatewayv1ac.HTTPRouteApplyConfiguration
	httpRouteFilter = gatewayv1ac.HTTPRouteFilterApplyConfiguration
	parents         = []*gatewayv1ac.ParentReferenceApplyConfiguration
)

// HTTPRoutes builds the routes of a Website: for each group of hosts one to the Service and,
// where these are wanted, redirects to the canonical host and to https.
func (r *HostRoutes) HTTPRoutes() []*httpRoute {
	canonical := Canonical(r.Website, r.Hosts)
	var routes []*httpRoute
	for i, hosts := range r.groups() {
		name := groupName(r.Website, i)
		served, redirected := hosts, []string(nil)
		if canonical != "" {
			served = slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return host != canonical })
			redirected = slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return host == canonical })
		}
		// A listener for none of its hosts does not accept a route.
		if len(served) > 0 {
			serving, _ := r.parents(i, served)
			routes = append(routes, r.route(name, served, serving, gatewayv1ac.HTTPRouteRule().WithBackendRefs(serviceBackend(r.Website))))
		}
		if len(redirected) > 0 {
			serving, _ := r.parents(i, redirected)
			toCanonical := redirectFilter(canonical)
			if WantsTLS(r.Website) {
				// Its listener may have another port than that of the redirected host.
				toCanonical = redirectFilterHTTPS(canonical, r.TLSPort(canonical))
			}
			routes = append(routes, r.route(name+suffixCanonical, redirected, serving, gatewayv1ac.HTTPRouteRule().WithFilters(toCanonical)))
		}
		for n, port := range r.portsOf(hosts, canonical) {
			_, redirecting := r.parents(i, port.hosts)
			if len(redirecting) == 0 {
				continue
			}
			suffix := suffixHTTPS
			if n > 0 {
				suffix += "-" + strconv.Itoa(int(port.number))
			}
			routes = append(routes, r.route(name+suffix, port.hosts, redirecting, gatewayv1ac.HTTPRouteRule().WithFilters(redirectFilterHTTPS(canonical, port.number))))
		}
	}
	return routes
}

// tlsPort is a port and the hosts whose visitors are redirected to it.
type tlsPort struct {
	number int32
	hosts  []string
}

// portsOf returns the ports at which hosts are served with TLS: that of the canonical host, if there is one.
func (r *HostRoutes) portsOf(hosts []string, canonical string) []tlsPort {
	if canonical != "" {
		return []tlsPort{{r.TLSPort(canonical), hosts}}
	}
	var ports []tlsPort
	for _, host := range hosts {
		number := r.TLSPort(host)
		i := slices.IndexFunc(ports, func(port tlsPort) bool { return port.number == number })
		if i < 0 {
			i, ports = len(ports), append(ports, tlsPort{number: number})
		}
		ports[i].hosts = append(ports[i].hosts, host)
	}
	return ports
}

func (r *HostRoutes) route(name string, hosts []string, parents parents, rule *gatewayv1ac.HTTPRouteRuleApplyConfiguration) *httpRoute {
	spec := gatewayv1ac.HTTPRouteSpec().WithParentRefs(parents...)
	for _, host := range hosts {
		spec.WithHostnames(gatewayv1.Hostname(host))
	}
	// What the API server would set by default is set: lists are compared as a whole.
	spec.WithRules(rule.WithMatches(gatewayv1ac.HTTPRouteMatch().
		WithPath(gatewayv1ac.HTTPPathMatch().WithType(gatewayv1.PathMatchPathPrefix).WithValue("/"))))
	return gatewayv1ac.HTTPRoute(name, r.Website.Namespace).
		WithLabels(supportLabels(r.Website)).
		WithOwnerReferences(ownerReference(r.Website)).
		WithSpec(spec)
}

// redirectFilter returns a redirect to a host, or to the requested one if that is empty.
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

// parents returns the listeners at which a group of hosts is served, and those at which it
// is redirected to https.
func (r *HostRoutes) parents(group int, hosts []string) (serving, redirecting parents) {
	if r.OwnListeners {
		for _, host := range hosts {
			serving = append(serving, r.listenerOf(group, "https", host))
			redirecting = append(redirecting, r.listenerOf(group, "http", host))
		}
		return serving, redirecting
	}
	if WantsTLS(r.Website) {
		// Never others: pages and passwords would be sent in the clear.
		serving, redirecting = r.listenersOfGateway(hosts)
		return serving[:min(len(serving), maxParents)], redirecting[:min(len(redirecting), maxParents)]
	}
	gateway := r.gateway()
	if named := r.Website.Spec.Routing.Gateway; named != nil && named.SectionName != "" {
		gateway.WithSectionName(gatewayv1.SectionName(named.SectionName))
	}
	return parents{gateway}, nil
}

func (r *HostRoutes) gateway() *gatewayv1ac.ParentReferenceApplyConfiguration {
	return parentReference("Gateway").WithNamespace(gatewayv1.Namespace(r.Gateway.Namespace)).WithName(gatewayv1.ObjectName(r.Gateway.Name))
}

func (r *HostRoutes) listenerOf(group int, protocol, host string) *gatewayv1ac.ParentReferenceApplyConfiguration {
	return parentReference(kindListenerSet).WithName(gatewayv1.ObjectName(groupName(r.Website, group))).WithSectionName(sectionName(protocol, host))
}

// listenersOfGateway returns the listeners of the Gateway for any of hosts, with TLS and
// without.
func (r *HostRoutes) listenersOfGateway(hosts []string) (secure, plain parents) {
	for _, listener := range r.Gateway.Spec.Listeners {
		if !slices.ContainsFunc(hosts, func(host string) bool { return takes(listener, host) }) {
			continue
		}
		switch listener.Protocol {
		case gatewayv1.HTTPSProtocolType:
			secure = append(secure, r.gateway().WithSectionName(listener.Name))
		case gatewayv1.HTTPProtocolType:
			plain = append(plain, r.gateway().WithSectionName(listener.Name))
		}
	}
	return secure, plain
}
