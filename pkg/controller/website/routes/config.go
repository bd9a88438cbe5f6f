package routes

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"github.com/kubesites/website-apiserver/pkg/controller/routeprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/events"
	"github.com/kubesites/website-apiserver/pkg/controller/website/queue"
)

// Config configures Routes.
type Config struct {
	// Watch configures the watches, which have clients of their own.
	Watch WatchConfig
	// Gateway writes the children of Gateway API.
	Gateway gatewayclient.Interface
	// Defaults are for Websites that name neither a Gateway nor an Ingress class.
	Defaults Defaults
}

// WatchConfig configures the watches of routes and Gateways.
type WatchConfig struct {
	// Gateway and Kube are read-only clients.
	Gateway gatewayclient.Interface
	Kube    kubernetes.Interface
	// Namespace is the namespace of the Websites; metav1.NamespaceAll for all.
	Namespace string
	// GatewayNamespaces are the namespaces of Gateways, besides Namespace.
	GatewayNamespaces []string
	// Clock is for DiscoveryPeriod. Default: the clock of the controller.
	Clock clock.Clock
	// DiscoveryPeriod is the interval of requests for a kind that the cluster does not serve. Default:
	// 30 seconds; tests use a shorter one.
	DiscoveryPeriod time.Duration
}

// Defaults has the flags for the routing of hosts.
type Defaults struct {
	// Gateway routes the hosts of Websites that name nothing else. The zero value: none.
	Gateway cache.ObjectName
	// IngressClass is for Websites without a Gateway; empty for the default class of the cluster.
	IngressClass string
}

// Controller connects Routes with the controller.
type Controller struct {
	// Websites is the cache of all Websites, with Indexers.
	Websites cache.Indexer
	Children *children.Children
	Events   *events.Reporter
	Queue    *queue.Queue
	Clock    clock.WithTicker
	// ChildHandler is called with HTTPRoutes, ListenerSets and Ingresses.
	ChildHandler cache.ResourceEventHandler
	// EnqueueOwner queues the Website that controls a child.
	EnqueueOwner func(child metav1.ObjectMetaAccessor, p queue.Priority)
}

// Routes reconciles the routes of the hosts of Websites.
type Routes struct {
	router   *router
	prober   *routeprobe.Prober
	defaults Defaults

	websites     cache.Indexer
	children     *children.Children
	events       *events.Reporter
	queue        *queue.Queue
	clock        clock.PassiveClock
	enqueueOwner func(child metav1.ObjectMetaAccessor, p queue.Priority)
}

// New returns Routes that queue Websites when routes or Gateways change.
func New(config Config, of Controller) *Routes {
	if config.Watch.Clock == nil {
		config.Watch.Clock = of.Clock
	}
	r := &Routes{
		prober:   routeprobe.New(routeprobe.Config{Changed: of.Queue.Enqueue, Clock: of.Clock}),
		defaults: config.Defaults, websites: of.Websites, children: of.Children, events: of.Events, queue: of.Queue,
		clock: of.Clock, enqueueOwner: of.EnqueueOwner,
	}
	r.router = newRouter(config.Watch, of.ChildHandler, r.gatewayHandler(), r.enqueueRouted)
	return r
}

// Stores returns the caches of the children.
func (r *Routes) Stores() children.RouteStores { return r.router.stores() }

// Forget drops the state of a Website that is gone. Routes may be nil.
func (r *Routes) Forget(key cache.ObjectName) {
	if r != nil {
		r.prober.Forget(key)
	}
}

// Run watches and probes until the context ends.
func (r *Routes) Run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.prober.Run(ctx)
	}()
	r.router.run(ctx)
	<-done
}
