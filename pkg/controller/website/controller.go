package website

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/agentkeys"
	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/events"
	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
	"github.com/kubesites/website-apiserver/pkg/controller/website/previews"
	"github.com/kubesites/website-apiserver/pkg/controller/website/queue"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/rollout"
	"github.com/kubesites/website-apiserver/pkg/controller/website/routes"
	"github.com/kubesites/website-apiserver/pkg/controller/website/takeover"
	"github.com/kubesites/website-apiserver/pkg/controller/website/unlabelled"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	websiteinformers "github.com/kubesites/website-apiserver/pkg/generated/informers/externalversions"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

// Config configures a Controller.
type Config struct {
	// Websites and Kube write. They should not share connections with the clients of the informers,
	// so that neither waits for the other.
	Websites versioned.Interface
	Kube     kubernetes.Interface
	// WebsiteInformers comes from NewWebsiteInformers, ChildInformers from
	// NewChildInformers. The caller starts them, after New.
	WebsiteInformers websiteinformers.SharedInformerFactory
	ChildInformers   kubeinformers.SharedInformerFactory
	// UnlabelledChildren are the children without the label of ChildInformers. The caller runs it
	// together with them. Nil: they are not watched.
	UnlabelledChildren *unlabelled.Watch
	// Recorder records the events on Websites.
	Recorder clientevents.EventRecorder
	// Installation has the flags for all pods.
	Installation resources.Installation
	// Keys sign requests to pods. Nil: they are not signed.
	Keys *agentkeys.Keys
	// MaxConcurrentRollouts limits the Deployments that replace their pods at the same time for
	// another reason than a change of their Website. Zero is no limit.
	MaxConcurrentRollouts int
	// Pods is the client for probes of pods. Nil disables commit observation.
	Pods podprobe.Client
	// Routing configures the routing of hosts. Nil: they are not routed.
	Routing *routes.Config
	// PreviewDomain is the domain of previews whose Website names none. Empty: they have no hosts.
	PreviewDomain string
	// OmitAuthors leaves the authors of commits out of statuses and events.
	OmitAuthors bool
	// TakeoverReadySeconds is the time for which pods of the original controller stay after their replacement
	// has become ready. 0 means 45; tests use less.
	TakeoverReadySeconds int32
	// ProbePeriod is the probing interval of healthy pods.
	ProbePeriod time.Duration
	// Clock defaults to the real clock.
	Clock clock.WithTicker
	// TracerProvider traces every reconciliation. Nil disables tracing.
	TracerProvider oteltrace.TracerProvider
}

// Controller reconciles the children and the status of every Website.
type Controller struct {
	*reconciler
	lister   websitelisters.WebsiteLister
	handlers *eventHandlers
	synced   []cache.InformerSynced
}

// New returns a controller, and registers its event handlers with the informers of the configuration.
func New(config Config) (*Controller, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	websites := config.WebsiteInformers.Website().V1beta1().Websites()
	core, apps, policy := config.ChildInformers.Core().V1(), config.ChildInformers.Apps().V1(),
		config.ChildInformers.Policy().V1()
	pods, client := core.Pods().Informer(), config.Websites.WebsiteV1beta1()
	index := websites.Informer().GetIndexer()

	c := &Controller{lister: websites.Lister(), reconciler: &reconciler{
		client: client, websites: children.NewCache(index), websiteIndex: index, queue: queue.New(config.Clock),
		keys: config.Keys, installation: config.Installation, memory: newMemory(config.Clock), statusDelay: statusDelay,
		tracer: newTracer(config.TracerProvider), clock: config.Clock,
	}}
	c.rollouts = rollout.NewLimit(config.MaxConcurrentRollouts, config.Clock, c.queue.Enqueue)
	c.events = events.NewReporter(config.Recorder, c.memory.events)
	c.pods = &websitePods{memory: c.memory, index: pods.GetIndexer(), websites: c.lister, queue: c.queue,
		omitAuthors: config.OmitAuthors}
	if config.Pods != nil {
		probing := podprobe.Config{
			Client: config.Pods, Period: config.ProbePeriod, Clock: config.Clock, Workers: probeWorkers, Share: probeShare,
		}
		if config.Keys != nil {
			probing.Sign = config.Keys.Sign
		}
		c.pods.prober = podprobe.New(probing)
	}
	owners := children.Owners{Cached: c.lister, Live: client}
	var err error
	if c.children, err = children.New(config.Kube, config.ChildInformers, owners); err != nil {
		return nil, err
	}
	c.children.AddPreviews(c.websites, index, owners)
	c.handlers = &eventHandlers{websiteLister: c.lister, websiteIndex: index, pods: c.pods,
		queue: c.queue, memory: c.memory, shown: c.children.Shown}
	if config.Routing != nil {
		c.routes = routes.New(*config.Routing, routes.Controller{
			Websites: index, Children: c.children, Events: c.events, Queue: c.queue, Clock: config.Clock,
			ChildHandler: c.handlers.childHandler(resources.DeploymentNameOfRoute), EnqueueOwner: c.handlers.enqueueOwner,
		})
		c.handlers.routes = c.routes
		c.children.AddRoutes(config.Kube, config.Routing.Gateway, c.routes.Stores(), owners)
	}
	c.takeover = takeover.New(config.Kube, c.children, config.UnlabelledChildren, c.events,
		config.TakeoverReadySeconds)
	c.previews = previews.New(c.children, c.events, c.queue, config.PreviewDomain)

	if err := pods.AddIndexers(podIndexers()); err != nil {
		return nil, fmt.Errorf("indexing pods: %w", err)
	}
	if err := websites.Informer().AddIndexers(websiteIndexers()); err != nil {
		return nil, fmt.Errorf("indexing Websites: %w", err)
	}
	if config.Routing != nil {
		if err := websites.Informer().AddIndexers(routes.Indexers(config.Routing.Defaults)); err != nil {
			return nil, fmt.Errorf("indexing Websites by Gateway: %w", err)
		}
	}
	sameName := func(name string) (string, bool) { return name, true }
	for _, watched := range []struct {
		resource schema.GroupVersionResource
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
		isChild  bool
	}{
		{v1beta1.SchemeGroupVersion.WithResource("websites"), websites.Informer(), c.handlers.websiteHandler(), false},
		{corev1.SchemeGroupVersion.WithResource("configmaps"), core.ConfigMaps().Informer(),
			c.handlers.childHandler(resources.DeploymentNameOfConfigMap), true},
		{corev1.SchemeGroupVersion.WithResource("configmaps"), core.ConfigMaps().Informer(),
			c.handlers.agentKeysHandler(), false},
		{appsv1.SchemeGroupVersion.WithResource("deployments"), apps.Deployments().Informer(),
			c.handlers.childHandler(sameName), true},
		{corev1.SchemeGroupVersion.WithResource("services"), core.Services().Informer(),
			c.handlers.childHandler(resources.DeploymentNameOfService), true},
		{policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), policy.PodDisruptionBudgets().Informer(),
			c.handlers.childHandler(sameName), true},
		{appsv1.SchemeGroupVersion.WithResource("replicasets"), apps.ReplicaSets().Informer(),
			c.handlers.replicaSetHandler(), false},
		{corev1.SchemeGroupVersion.WithResource("pods"), pods, c.handlers.podHandler(), false},
	} {
		registration, err := watched.informer.AddEventHandler(watched.handler)
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", watched.resource.Resource, err)
		}
		c.synced = append(c.synced, registration.HasSynced)
		if watched.isChild && config.UnlabelledChildren != nil {
			config.UnlabelledChildren.Add(watched.resource, watched.handler)
		}
	}
	if config.UnlabelledChildren != nil {
		c.synced = append(c.synced, config.UnlabelledChildren.HasSynced)
	}
	return c, nil
}

// RegisterWebsitesMetric registers the metrics of the Websites of a controller. A process has these
// metrics of one controller only: a second call returns an error.
func (c *Controller) RegisterWebsitesMetric() error {
	return metrics.RegisterWebsites(c.lister, c.rollouts.Counts, c.clock)
}

// HasSynced reports whether the initial lists of all informers have been handled.
func (c *Controller) HasSynced() bool {
	for _, synced := range c.synced {
		if !synced() {
			return false
		}
	}
	return true
}

// Run reconciles until drain is closed, then finishes the work in flight and returns. Queued keys are
// left to the next leader. The context bounds the work itself: when it ends, calls in flight fail and
// Run returns its cause.
func (c *Controller) Run(ctx context.Context, drain <-chan struct{}, workers int) error {
	logger := klog.FromContext(ctx)

	var background sync.WaitGroup
	defer background.Wait()
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	background.Go(func() {
		defer cancel()
		select {
		case <-drain:
		case <-stop.Done():
		}
	})
	defer c.queue.ShutDown()

	if !cache.WaitForCacheSync(stop.Done(), c.synced...) {
		return context.Cause(ctx)
	}

	if c.keys != nil {
		// Without the keys, children would be written once more when the keys are loaded.
		c.keys.Load(stop)
	}

	// From here on events are queued; earlier events are covered by queueing every Website once.
	c.queue.Running.Store(true)
	websites, err := c.lister.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing Websites: %w", err)
	}
	slices.SortFunc(websites, rollout.Compare)
	c.rollouts.Start(websites, rollout.InCache(c.children.Deployments))
	for _, website := range websites {
		c.pods.want(website)
		c.queue.Add(cache.MetaObjectToName(website))
	}
	for _, key := range c.children.AgentKeys.All() {
		c.queue.Add(key)
	}

	start := func(run func()) {
		background.Go(func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			run()
		})
	}
	if c.keys != nil {
		start(func() { c.keys.Run(stop, c.requeueAll) })
	}
	if c.pods.prober != nil {
		probing, stopProbing := context.WithCancel(ctx)
		defer stopProbing()
		start(func() { c.pods.run(probing) })
	}
	if c.routes != nil {
		start(func() { c.routes.Run(stop) })
	}

	logger.Info("Starting workers", "workers", workers, "websites", len(websites))
	var pool sync.WaitGroup
	for range workers {
		pool.Go(func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			for c.work(ctx, stop.Done()) {
			}
		})
	}

	<-stop.Done()
	logger.Info("Stopping workers")
	c.queue.Running.Store(false)
	c.queue.ShutDownWithDrain()
	pool.Wait()
	return context.Cause(ctx)
}
