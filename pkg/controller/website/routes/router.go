package routes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/watched"
)

// Resources that route hosts.
const (
	gateways     = "gateways"
	httpRoutes   = "httproutes"
	listenerSets = "listenersets"
	ingresses    = "ingresses"
)

// router watches the kinds that route hosts.
type router struct {
	config WatchConfig

	gateways                            []*kind
	httpRoutes, listenerSets, ingresses *kind

	wanted chan struct{}
	once   sync.Once
}

// clusterState states how hosts can be routed in the cluster.
type clusterState struct {
	// Unknown is the reason why the state is unknown; empty if it is known.
	Unknown string
	// Missing is the reason why hosts cannot be routed by a Gateway; empty if they can.
	Missing string
	// ListenerSets is true if the cluster serves ListenerSets.
	ListenerSets bool
}

// newRouter returns a router that does nothing before want is called. It calls ofChildren with
// HTTPRoutes, ListenerSets and Ingresses, ofGateways with Gateways, and changed when the result of
// current may change.
func newRouter(config WatchConfig, ofChildren, ofGateways cache.ResourceEventHandler, changed func()) *router {
	const selector = resources.LabelManagedBy + "=" + resources.ManagedBy
	r := &router{config: config, wanted: make(chan struct{})}
	child := func(resource string, indexers cache.Indexers) *kind {
		return newKind(resource, watched.NewStore(ofChildren, trimChild, changed, indexers), config, changed)
	}
	api, namespace := config.Gateway.GatewayV1(), config.Namespace
	k := child(httpRoutes, httpRouteIndexers())
	r.httpRoutes = k.reflect(&gatewayv1.HTTPRoute{}, watched.Source(api.HTTPRoutes(namespace), selector, k.try),
		config.Gateway)
	k = child(listenerSets, cached.IndexByOwner())
	r.listenerSets = k.reflect(&gatewayv1.ListenerSet{}, watched.Source(api.ListenerSets(namespace), selector, k.try),
		config.Gateway)
	k = child(ingresses, cached.IndexByOwner())
	r.ingresses = k.reflect(&networkingv1.Ingress{},
		watched.Source(config.Kube.NetworkingV1().Ingresses(namespace), selector, k.try), config.Kube)
	for _, namespace := range gatewayNamespaces(config) {
		k := newKind(gateways, watched.NewStore(ofGateways, trimGateway, changed, cache.Indexers{}), config, changed)
		r.gateways = append(r.gateways,
			k.reflect(&gatewayv1.Gateway{}, watched.Source(api.Gateways(namespace), "", k.try), config.Gateway))
	}
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

// current returns the state of the cluster. It is unknown before the caches of all served kinds have
// synced.
func (r *router) current() clusterState {
	ofGateway := append(slices.Clone(r.gateways), r.httpRoutes)
	for _, kind := range ofGateway {
		if kind.isMissing.Load() {
			return clusterState{Unknown: r.ingresses.unknown(), Missing: fmt.Sprintf("the cluster serves no %s of %s: "+
				"install Gateway API v1", kind.resource, gatewayv1.GroupVersion)}
		}
	}
	state := clusterState{ListenerSets: !r.listenerSets.isMissing.Load(), Unknown: r.ingresses.unknown()}
	if state.ListenerSets {
		ofGateway = append(ofGateway, r.listenerSets)
	}
	for _, kind := range ofGateway {
		state.Unknown = cmp.Or(state.Unknown, kind.unknown())
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

// run watches until the context ends. It starts when a Website has hosts.
func (r *router) run(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-r.wanted:
	}
	var watching sync.WaitGroup
	for _, kind := range append(slices.Clone(r.gateways), r.httpRoutes, r.listenerSets, r.ingresses) {
		watching.Go(func() { kind.reflector.RunWithContext(ctx) })
	}
	watching.Wait()
}
