package website

import (
	"context"
	"fmt"
	"sync"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	websiteinformers "github.com/kubesites/website-apiserver/pkg/generated/informers/externalversions"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

// reconcileTimeout ends a reconciliation that an API server keeps waiting.
const reconcileTimeout = time.Minute

// Config is what a Controller works with.
type Config struct {
	// Websites and Kube write. They should not share connections with the
	// clients of the informers, so that neither waits for the other.
	Websites versioned.Interface
	Kube     kubernetes.Interface
	// WebsiteInformers comes from NewWebsiteInformers, ChildInformers from
	// NewChildInformers. Whoever made them starts them, after New.
	WebsiteInformers websiteinformers.SharedInformerFactory
	ChildInformers   kubeinformers.SharedInformerFactory
	// Recorder takes the events on Websites.
	Recorder events.EventRecorder
	// Images are what the pods run.
	Images resources.Images
	// Pods reaches the pods to probe. Nil disables commit observation.
	Pods podprobe.Client
	// ProbePeriod is the probing interval of healthy pods.
	ProbePeriod time.Duration
	// Clock tells the time. Default: the real one.
	Clock clock.WithTicker
	// TracerProvider takes a span of every reconciliation. Default: none are made.
	TracerProvider oteltrace.TracerProvider
}

// Controller keeps the children and the status of every Website.
type Controller struct {
	websites   websitelisters.WebsiteLister
	pods       *websitePods
	queue      *websiteQueue
	handlers   *eventHandlers
	reconciler *reconciler
	tracer     tracer
	synced     []cache.InformerSynced
}

// New returns a controller whose event handlers are registered with the
// informers of the configuration.
func New(config Config) (*Controller, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	websites := config.WebsiteInformers.Website().V1beta1().Websites()
	core, apps, policy := config.ChildInformers.Core().V1(), config.ChildInformers.Apps().V1(), config.ChildInformers.Policy().V1()
	pods, client := core.Pods().Informer(), config.Websites.WebsiteV1beta1()
	index := websites.Informer().GetIndexer()

	c := &Controller{
		websites: websites.Lister(),
		queue:    newWebsiteQueue(config.Clock),
		tracer:   newTracer(config.TracerProvider, config.Clock),
	}
	c.pods = &websitePods{index: pods.GetIndexer(), websites: c.websites, queue: c.queue}
	if config.Pods != nil {
		c.pods.prober = podprobe.New(podprobe.Config{Client: config.Pods, Period: config.ProbePeriod, Clock: config.Clock})
	}
	c.handlers = &eventHandlers{websiteLister: c.websites, websiteIndex: index, pods: c.pods, queue: c.queue}
	written := children.NewCache(index)
	c.reconciler = &reconciler{
		websites: written, websiteIndex: index,
		children: children.New(config.Kube, config.ChildInformers, children.Owners{Cached: c.websites, Live: client}),
		pods:     c.pods,
		images:   config.Images,
		events:   newEventReporter(config.Recorder),
		statuses: newStatusReporter(client, written, c.queue, c.tracer),
		tracer:   c.tracer,
		clock:    config.Clock,
	}

	if err := pods.AddIndexers(podIndexers()); err != nil {
		return nil, fmt.Errorf("indexing pods: %w", err)
	}
	if err := websites.Informer().AddIndexers(websiteIndexers()); err != nil {
		return nil, fmt.Errorf("indexing Websites: %w", err)
	}
	sameName := func(name string) (string, bool) { return name, true }
	for _, watched := range []struct {
		what     string
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{"Websites", websites.Informer(), c.handlers.websiteHandler()},
		{"ConfigMaps", core.ConfigMaps().Informer(), c.handlers.childHandler(resources.DeploymentNameOfConfigMap)},
		{"Deployments", apps.Deployments().Informer(), c.handlers.childHandler(sameName)},
		{"Services", core.Services().Informer(), c.handlers.childHandler(resources.DeploymentNameOfService)},
		{"PodDisruptionBudgets", policy.PodDisruptionBudgets().Informer(), c.handlers.childHandler(sameName)},
		{"Pods", pods, c.handlers.podHandler()},
	} {
		registration, err := watched.informer.AddEventHandler(watched.handler)
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", watched.what, err)
		}
		c.synced = append(c.synced, registration.HasSynced)
	}
	return c, nil
}

// RegisterWebsitesMetric adds the number of the Websites of a controller, by
// condition, to the registry that component-base serves. A process counts those
// of one controller only: a second call returns an error.
func (c *Controller) RegisterWebsitesMetric() error {
	if err := legacyregistry.CustomRegister(&websitesCollector{websites: c.websites}); err != nil {
		return fmt.Errorf("registering the metric of Websites by condition: %w", err)
	}
	return nil
}

// HasSynced reports whether the informers have delivered everything that there
// was when they started.
func (c *Controller) HasSynced() bool {
	for _, synced := range c.synced {
		if !synced() {
			return false
		}
	}
	return true
}

// Run reconciles until drain is closed, then finishes what is in flight and
// returns. What is only queued is left to the next leader. The context bounds
// the work itself: when it ends, calls in flight fail and Run returns its cause.
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

	// From here on events are queued; whatever happened before is covered by
	// queueing every Website once.
	c.queue.running.Store(true)
	websites, err := c.websites.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing Websites: %w", err)
	}
	for _, website := range websites {
		c.queue.Add(cache.MetaObjectToName(website))
	}

	if c.pods.prober != nil {
		probing, stopProbing := context.WithCancel(ctx)
		defer stopProbing()
		background.Go(func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			c.pods.run(probing)
		})
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
	c.queue.running.Store(false)
	c.queue.ShutDownWithDrain()
	pool.Wait()
	return context.Cause(ctx)
}

// work takes one key from the queue. It returns false when there are no more.
func (c *Controller) work(ctx context.Context, stop <-chan struct{}) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	select {
	case <-stop:
		return true
	default:
	}

	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "website", key))
	start := time.Now()
	ctx, span := c.tracer.startReconcile(ctx, key)
	problems := c.reconciler.reconcile(ctx, key)
	result := c.queue.requeue(ctx, key, problems)
	endReconcile(span, result, problems)
	recordReconcile(result, time.Since(start))
	return true
}
