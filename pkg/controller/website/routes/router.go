package routes

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
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/watched"
)

// defaultDiscoveryPeriod is the discovery interval: short enough for a user who installs Gateway API,
// and one small request.
const defaultDiscoveryPeriod = 30 * time.Second

// router watches the kinds that route hosts.
type router struct {
	config  WatchConfig
	changed func()

	gateways                            []*kind
	httpRoutes, listenerSets, ingresses *kind

	wanted chan struct{}
	once   sync.Once
	state  atomic.Pointer[clusterState]
}

// clusterState states how hosts can be routed in the cluster.
type clusterState struct {
	servedAPI
	// Unknown is the reason why the state is unknown; empty if it is known.
	Unknown string
}

// newRouter returns a router that does nothing before want is called. It calls ofChildren with
// HTTPRoutes, ListenerSets and Ingresses, ofGateways with Gateways, and changed when the result of
// current may change.
func newRouter(config WatchConfig, ofChildren, ofGateways cache.ResourceEventHandler, changed func()) *router {
	r := &router{config: config, changed: changed, wanted: make(chan struct{})}
	child := func(resource string, object runtime.Object, source watched.Source, indexers cache.Indexers) *kind {
		return &kind{
			resource: resource, object: object, selector: resources.LabelManagedBy + "=" + resources.ManagedBy,
			source: source, store: watched.NewStore(ofChildren, trimChild, changed, indexers), streams: config.Gateway,
		}
	}
	api, namespace := config.Gateway.GatewayV1(), config.Namespace
	r.httpRoutes = child(httpRoutes, &gatewayv1.HTTPRoute{}, watched.SourceOf(api.HTTPRoutes(namespace)),
		httpRouteIndexers())
	r.listenerSets = child(listenerSets, &gatewayv1.ListenerSet{}, watched.SourceOf(api.ListenerSets(namespace)),
		cached.IndexByOwner())
	r.ingresses = child(ingresses, &networkingv1.Ingress{},
		watched.SourceOf(config.Kube.NetworkingV1().Ingresses(namespace)), cached.IndexByOwner())
	r.ingresses.streams = config.Kube
	for _, namespace := range gatewayNamespaces(config) {
		r.gateways = append(r.gateways, &kind{
			resource: gateways, object: &gatewayv1.Gateway{}, source: watched.SourceOf(api.Gateways(namespace)),
			store: watched.NewStore(ofGateways, trimGateway, changed, cache.Indexers{}), streams: config.Gateway,
		})
	}
	r.state.Store(&clusterState{Unknown: "discovery of the APIs of the cluster is not complete yet"})
	return r
}

func gatewayNamespaces(config WatchConfig) []string {
	if config.Namespace == metav1.NamespaceAll {
		return []string{metav1.NamespaceAll}
	}
	namespaces := append([]string{config.Namespace}, config.GatewayNamespaces...)
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// stores returns the caches of the children.
func (r *router) stores() children.RouteStores {
	return children.RouteStores{HTTPRoutes: r.httpRoutes.store, ListenerSets: r.listenerSets.store,
		Ingresses: r.ingresses.store}
}

// want starts the router: a Website has hosts. It may be called any number of times.
func (r *router) want() { r.once.Do(func() { close(r.wanted) }) }

// current returns the state of the cluster. It is unknown before all caches have synced.
func (r *router) current() clusterState {
	state := *r.state.Load()
	if state.Unknown != "" {
		return state
	}
	for _, kind := range r.served(state.servedAPI) {
		if kind.store.HasSynced() {
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

// gateway returns a Gateway, or nil when there is none. Watched reports whether its
// namespace is watched.
func (r *router) gateway(namespace, name string) (gateway *gatewayv1.Gateway, watched bool) {
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

// routesAt returns the HTTPRoutes at a Gateway.
func (r *router) routesAt(gateway cache.ObjectName) []*cached.HTTPRoute {
	return cached.Indexed[*cached.HTTPRoute](r.httpRoutes.store, byGateway, gateway.String())
}

// run discovers and watches until the context ends. It starts when a Website has hosts.
func (r *router) run(ctx context.Context) {
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

func (r *router) kinds() []*kind {
	return append(slices.Clone(r.gateways), r.httpRoutes, r.listenerSets, r.ingresses)
}

// served returns the kinds that the cluster serves.
func (r *router) served(api servedAPI) []*kind {
	kinds := []*kind{r.ingresses}
	if api.Missing == "" {
		kinds = append(append(kinds, r.gateways...), r.httpRoutes)
		if api.ListenerSets {
			kinds = append(kinds, r.listenerSets)
		}
	}
	return kinds
}

// discover watches the kinds that the cluster serves. If discovery fails, the watches stay as they
// are.
func (r *router) discover(ctx context.Context) {
	before := r.state.Load()
	api, err := discover(ctx, r.config.Discovery)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("What the cluster serves of Gateway API is unknown", "err", err)
		if before.Unknown != "" {
			r.state.Store(&clusterState{Unknown: err.Error()})
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
	after := &clusterState{servedAPI: api}
	r.state.Store(after)
	if *after != *before {
		klog.FromContext(ctx).Info("Discovered Gateway API", "missing", api.Missing, "listenerSets", api.ListenerSets)
		r.changed()
	}
}
