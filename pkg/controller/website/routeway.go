package website

import (
	"cmp"
	"context"
	"fmt"
	"net"

	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/routeprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/routing"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// RoutingDefaults is what the flags say about the routing of hosts.
type RoutingDefaults struct {
	// Gateway routes the hosts of Websites that name nothing else. The zero value: none.
	Gateway cache.ObjectName
	// IngressClass does so where there is no Gateway; empty for the default of the cluster.
	IngressClass string
}

// gatewayOf returns the Gateway that is to route the hosts of a Website; the zero value: none.
func (d RoutingDefaults) gatewayOf(website *v1beta1.Website) cache.ObjectName {
	switch spec := website.Spec.Routing; {
	case spec.IngressClassName != "":
		return cache.ObjectName{}
	case spec.Gateway != nil:
		return cache.NewObjectName(cmp.Or(spec.Gateway.Namespace, website.Namespace), spec.Gateway.Name)
	default:
		return d.Gateway
	}
}

// RoutingConfig is what hosts are routed with.
type RoutingConfig struct {
	// Router watches what routes hosts, with clients of its own.
	Router routing.Config
	// Gateway writes the children of Gateway API.
	Gateway gatewayclient.Interface
	// Defaults are for Websites that say nothing.
	Defaults RoutingDefaults
	// Resolver and Dial are for the requests to hosts. Default: those of the process.
	Resolver routeprobe.Resolver
	Dial     func(ctx context.Context, network, address string) (net.Conn, error)
}

// newRoutes returns what routes hosts, with event handlers that queue Websites.
func newRoutes(config *RoutingConfig, handlers *eventHandlers, clock clock.WithTicker) *routes {
	if config.Router.Clock == nil {
		config.Router.Clock = clock
	}
	router := routing.New(config.Router, routing.Handlers{
		Children: handlers.childHandler(resources.DeploymentNameOfRoute),
		Gateways: handlers.gatewayHandler(),
		Changed:  handlers.enqueueRouted,
		Trim:     trim,
	})
	handlers.routesAt = router.RoutesAt
	return &routes{
		router: router,
		prober: routeprobe.New(routeprobe.Config{
			Changed: func(key cache.ObjectName) { handlers.queue.Enqueue(key) },
			Clock:   clock, Resolver: config.Resolver, Dial: config.Dial,
		}),
		defaults:  config.Defaults,
		handovers: newHandovers(clock),
	}
}

// routes is what routes hosts in the cluster.
type routes struct {
	router    *routing.Router
	prober    *routeprobe.Prober
	defaults  RoutingDefaults
	handovers *handovers
}

// forget ends the probes of a Website that is gone.
func (r *routes) forget(key cache.ObjectName) {
	if r != nil {
		r.prober.Forget(key)
		r.handovers.forget(key)
	}
}

// run watches and probes until the context ends.
func (r *routes) run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.prober.Run(ctx)
	}()
	r.router.Run(ctx)
	<-done
}

// way is in which way hosts are routed: by a Gateway or, without one, by an Ingress.
type way struct {
	gateway      *gatewayv1.Gateway
	ownListeners bool
	ingressClass string
}

// choose returns the way of a Website, or why there is none.
func (r *routes) choose(website *v1beta1.Website, state routing.State) (way, *status.Obstacle) {
	spec, name := website.Spec.Routing, r.defaults.gatewayOf(website)
	switch {
	case spec.IngressClassName != "":
		return way{ingressClass: spec.IngressClassName}, nil
	case spec.Gateway != nil && state.Missing != "":
		return way{}, &status.Obstacle{Reason: v1beta1.WebsiteReasonGatewayAPIMissing, Message: state.Missing}
	case name == cache.ObjectName{} || state.Missing != "":
		return way{ingressClass: r.defaults.IngressClass}, nil
	}
	gateway, watched := r.router.Gateway(name.Namespace, name.Name)
	switch {
	case !watched:
		return way{}, &status.Obstacle{Reason: v1beta1.WebsiteReasonGatewayNotFound,
			Message: fmt.Sprintf("Gateways of namespace %q are not watched by website-controller: see --watch-namespace and --default-gateway", name.Namespace)}
	case gateway == nil:
		return way{}, &status.Obstacle{Reason: v1beta1.WebsiteReasonGatewayNotFound,
			Message: fmt.Sprintf("there is no Gateway %q in namespace %q: create it, or set spec.routing", name.Name, name.Namespace)}
	}
	return way{gateway: gateway, ownListeners: resources.WantsTLS(website) && state.ListenerSets && allowsListenerSets(gateway)}, nil
}

// allowsListenerSets reports whether a Gateway allows any ListenerSets. By default it allows
// none, and its controller may not know them.
func allowsListenerSets(gateway *gatewayv1.Gateway) bool {
	allowed := gateway.Spec.AllowedListeners
	return allowed != nil && allowed.Namespaces != nil && allowed.Namespaces.From != nil && *allowed.Namespaces.From != gatewayv1.NamespacesFromNone
}

// desiredRoutes is what the children that route hosts are to be.
type desiredRoutes struct {
	listenerSets []*gatewayv1ac.ListenerSetApplyConfiguration
	httpRoutes   []*gatewayv1ac.HTTPRouteApplyConfiguration
	ingress      *networkingv1ac.IngressApplyConfiguration
}

func (d desiredRoutes) ingressNames() []string {
	if d.ingress == nil {
		return nil
	}
	return []string{*d.ingress.GetName()}
}

func namesOf[A interface{ GetName() *string }](desired []A) []string {
	var names []string
	for _, child := range desired {
		names = append(names, *child.GetName())
	}
	return names
}

func (w way) routesOf(website *v1beta1.Website, hosts []string) *resources.HostRoutes {
	return &resources.HostRoutes{Website: website, Hosts: hosts, Gateway: w.gateway, OwnListeners: w.ownListeners}
}

func (w way) build(website *v1beta1.Website, hosts []string) desiredRoutes {
	if w.gateway == nil {
		return desiredRoutes{ingress: resources.Ingress(website, hosts, w.ingressClass)}
	}
	routes := w.routesOf(website, hosts)
	return desiredRoutes{listenerSets: routes.ListenerSets(), httpRoutes: routes.HTTPRoutes()}
}

// secured returns the hosts that can be routed, and why others cannot, or nil: without a listener for it, a Website
// with TLS would be served without.
func (w way) secured(website *v1beta1.Website, hosts []string) ([]string, *status.Obstacle) {
	if w.gateway == nil {
		return hosts, nil
	}
	var secured []string
	var obstacle *status.Obstacle
	routes := w.routesOf(website, hosts)
	for _, host := range hosts {
		if routes.IsSecured(host) {
			secured = append(secured, host)
		} else if obstacle == nil {
			remedy := "and allows no ListenerSets: add the listener, or set spec.allowedListeners of the Gateway"
			if allowsListenerSets(w.gateway) {
				remedy = "and the cluster has no ListenerSets: add the listener, or install a version of Gateway API with listenersets in gateway.networking.k8s.io/v1"
			}
			obstacle = &status.Obstacle{Reason: v1beta1.WebsiteReasonRouteNotAccepted,
				Message: fmt.Sprintf("Gateway %q of namespace %q has no HTTPS listener for %s, %s", w.gateway.Name, w.gateway.Namespace, host, remedy)}
		}
	}
	return secured, obstacle
}

// target returns what is to be requested. Only addresses that the controller of the Gateway
// or Ingress reports are connected to.
func (w way) target(website *v1beta1.Website, hosts []string, written writtenRoutes) routeprobe.Target {
	var target routeprobe.Target
	canonical := ""
	if w.gateway != nil {
		canonical = resources.Canonical(website, hosts)
		for _, address := range w.gateway.Status.Addresses {
			target.Addresses = append(target.Addresses, address.Value)
		}
	} else {
		for _, address := range written.ingress.Status.LoadBalancer.Ingress {
			for _, value := range []string{address.IP, address.Hostname} {
				if value != "" {
					target.Addresses = append(target.Addresses, value)
				}
			}
		}
	}
	for _, name := range hosts {
		if status.IsWildcard(name) {
			continue
		}
		host := routeprobe.Host{Name: name, Endpoints: w.endpoints(website, hosts, name)}
		if name != canonical {
			host.RedirectedTo = canonical
		}
		target.Hosts = append(target.Hosts, host)
	}
	return target
}

// endpoints returns the ports of a host, with TLS first. With a certificate of its own, a
// host is found with TLS or not at all.
func (w way) endpoints(website *v1beta1.Website, hosts []string, host string) []routeprobe.Endpoint {
	if w.gateway == nil {
		if resources.WantsTLS(website) {
			return []routeprobe.Endpoint{{TLS: true, Port: 443}}
		}
		return []routeprobe.Endpoint{{Port: 80}}
	}
	routes := w.routesOf(website, hosts)
	if resources.WantsTLS(website) {
		return []routeprobe.Endpoint{{TLS: true, Port: routes.TLSPort(host)}}
	}
	var secure, plain []routeprobe.Endpoint
	for _, listener := range routes.Listeners(host) {
		if listener.Protocol == gatewayv1.HTTPSProtocolType {
			secure = append(secure, routeprobe.Endpoint{TLS: true, Port: int32(listener.Port)})
		} else {
			plain = append(plain, routeprobe.Endpoint{Port: int32(listener.Port)})
		}
	}
	return append(secure, plain...)
}
