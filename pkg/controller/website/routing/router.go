package routing

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// defaultDiscoveryPeriod is the discovery interval: soon enough for a user who installs Gateway API, and one
// small request.
const defaultDiscoveryPeriod = 30 * time.Second

// Config is what a Router works with.
type Config struct {
	// Discovery, Gateway and Kube read.
	Discovery discovery.DiscoveryInterfaceWithContext
	Gateway   gatewayclient.Interface
	Kube      kubernetes.Interface
	// Namespace is that of the Websites; metav1.NamespaceAll for all.
	Namespace string
	// GatewayNamespaces are those of Gateways, besides Namespace.
	GatewayNamespaces []string
	// Clock gives the times of discovery.
	Clock clock.WithTicker
	// DiscoveryPeriod is the discovery interval. Default: 30 seconds; tests wait for less.
	DiscoveryPeriod time.Duration
}

// Handlers are called by a Router.
type Handlers struct {
	// Children is called with HTTPRoutes, ListenerSets and Ingresses.
	Children cache.ResourceEventHandler
	// Gateways is called with Gateways.
	Gateways cache.ResourceEventHandler
	// Changed is called when State may have changed.
	Changed func()
	// Trim is called with a child before it is kept.
	Trim func(obj any) (any, error)
}

// Router watches what routes hosts.
type Router struct {
	config  Config
	changed func()

	gateways                            []*kind
	httpRoutes, listenerSets, ingresses *kind

	wanted chan struct{}
	once   sync.Once
	state  atomic.Pointer[State]
}

// State is what is known about routing in the cluster.
type State struct {
	API
	// Unknown is why nothing else is known; empty if it is.
	Unknown string
}

// New returns a Router that does nothing before Want is called.
func New(config Config, handlers Handlers) *Router {
	r := &Router{config: config, changed: handlers.Changed, wanted: make(chan struct{})}
	child := func(resource string, object runtime.Object, source source, indexers cache.Indexers) *kind {
		return &kind{
			resource: resource, object: object, selector: resources.LabelManagedBy + "=" + resources.ManagedBy,
			source: source, store: newStore(handlers.Children, handlers.Trim, handlers.Changed, indexers), streams: config.Gateway,
		}
	}
	api, namespace := config.Gateway.GatewayV1(), config.Namespace
	r.httpRoutes = child(httpRoutes, &gatewayv1.HTTPRoute{}, sourceOf(api.HTTPRoutes(namespace)), httpRouteIndexers())
	r.listenerSets = child(listenerSets, &gatewayv1.ListenerSet{}, sourceOf(api.ListenerSets(namespace)), children.IndexByOwner())
	r.ingresses = child(ingresses, &networkingv1.Ingress{}, sourceOf(config.Kube.NetworkingV1().Ingresses(namespace)), children.IndexByOwner())
	r.ingresses.streams = config.Kube
	for _, namespace := range gatewayNamespaces(config) {
		r.gateways = append(r.gateways, &kind{
			resource: gateways, object: &gatewayv1.Gateway{}, source: sourceOf(api.Gateways(namespace)),
			store: newStore(handlers.Gateways, trimGateway, handlers.Changed, cache.Indexers{}), streams: config.Gateway,
		})
	}
	r.state.Store(&State{Unknown: "what the cluster serves is not discovered yet"})
	return r
}

func gatewayNamespaces(config Config) []string {
	if config.Namespace == metav1.NamespaceAll {
		return []string{metav1.NamespaceAll}
	}
	namespaces := append([]string{config.Namespace}, config.GatewayNamespaces...)
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// Stores returns the caches of the children.
func (r *Router) Stores() children.RouteStores {
	return children.RouteStores{HTTPRoutes: r.httpRoutes.store, ListenerSets: r.listenerSets.store, Ingresses: r.ingresses.store}
}

// Want has the Router begin: a Website has hosts. It may be called any number of times.
func (r *Router) Want() { r.once.Do(func() { close(r.wanted) }) }

// State returns what is known. Until all objects that exist are known, nothing is.
func (r *Router) State() State {
	state := *r.state.Load()
	if state.Unknown != "" {
		return state
	}
	for _, kind := range r.served(state.API) {
		if kind.store.synced.Load() {
			continue
		}
		state.Unknown = kind.resource + " are not listed yet"
		if failure := kind.failure.Load(); failure != nil {
			state.Unknown = *failure
		}
		return state
	}
	return state
}

// Gateway returns a Gateway, or nil when there is none. Watched reports whether its
// namespace is watched.
func (r *Router) Gateway(namespace, name string) (gateway *gatewayv1.Gateway, watched bool) {
	for i, watchedNamespace := range gatewayNamespaces(r.config) {
		if watchedNamespace != metav1.NamespaceAll && watchedNamespace != namespace {
			continue
		}
		obj, exists, err := r.gateways[i].store.GetByKey(cache.NewObjectName(namespace, name).String())
		if gateway, ok := obj.(*gatewayv1.Gateway); err == nil && exists && ok {
			return gateway, true
		}
		return nil, true
	}
	return nil, false
}

// RoutesAt returns the HTTPRoutes at a Gateway.
func (r *Router) RoutesAt(gateway cache.ObjectName) []*gatewayv1.HTTPRoute {
	indexed, err := r.httpRoutes.store.ByIndex(byGateway, gateway.String())
	if err != nil {
		return nil // Only an index that does not exist is an error.
	}
	var routes []*gatewayv1.HTTPRoute
	for _, obj := range indexed {
		if route, ok := obj.(*gatewayv1.HTTPRoute); ok {
			routes = append(routes, route)
		}
	}
	return routes
}

// Run discovers and watches until the context ends, from when a Website has hosts.
func (r *Router) Run(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-r.wanted:
	}
	defer func() {
		for _, kind := range r.kinds() {
			kind.end()
		}
	}()
	ticker := r.config.Clock.NewTicker(cmp.Or(r.config.DiscoveryPeriod, defaultDiscoveryPeriod))
	defer ticker.Stop()
	for {
		r.discover(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

func (r *Router) kinds() []*kind {
	return append(slices.Clone(r.gateways), r.httpRoutes, r.listenerSets, r.ingresses)
}

// served returns the kinds that the cluster serves.
func (r *Router) served(api API) []*kind {
	kinds := []*kind{r.ingresses}
	if api.Missing == "" {
		kinds = append(append(kinds, r.gateways...), r.httpRoutes)
		if api.ListenerSets {
			kinds = append(kinds, r.listenerSets)
		}
	}
	return kinds
}

// discover watches what the cluster serves. Without an answer everything stays as it is.
func (r *Router) discover(ctx context.Context) {
	before := r.state.Load()
	api, err := discover(ctx, r.config.Discovery)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("What the cluster serves of Gateway API is unknown", "err", err)
		if before.Unknown != "" {
			r.state.Store(&State{Unknown: err.Error()})
		}
		return
	}
	served := r.served(api)
	for _, kind := range r.kinds() {
		if slices.Contains(served, kind) {
			kind.start(ctx)
		} else {
			kind.end()
		}
	}
	after := &State{API: api}
	r.state.Store(after)
	if *after != *before {
		klog.FromContext(ctx).Info("Discovered Gateway API", "missing", api.Missing, "listenerSets", api.ListenerSets)
		r.changed()
	}
}
