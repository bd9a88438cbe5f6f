package website

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/observer"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	websiteinformers "github.com/kubesites/website-apiserver/pkg/generated/informers/externalversions"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

const (
	// baseRetry and maxRetry bound how long a Website waits after an error. The
	// wait doubles with every error in a row; the bound keeps a site from
	// staying down long after what was wrong has been put right.
	baseRetry = 100 * time.Millisecond
	maxRetry  = 2 * time.Minute

	// nameTakenRetry is how often a name is tried that belongs to something
	// else. What is not labelled as ours sends no events when it goes.
	nameTakenRetry  = time.Minute
	nameTakenJitter = 0.2

	// observationWorkers is how many pods are asked at once what they serve.
	observationWorkers = 20

	// passTimeout ends a pass over a Website that an API server keeps waiting.
	passTimeout = time.Minute
)

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
	// Pods is how pods are asked which commit they serve. Nil: they are not
	// asked.
	Pods observer.Pods
	// ObservationPeriod is how often a pod is asked with which all is well.
	ObservationPeriod time.Duration
	// Clock tells the time. Default: the real one.
	Clock clock.WithTicker
	// TracerProvider takes a span of every pass. Default: none are made.
	TracerProvider oteltrace.TracerProvider
}

// Controller keeps the children and the status of every Website.
type Controller struct {
	websites   versioned.Interface
	siteLister websitelisters.WebsiteLister
	siteIndex  cache.Indexer

	configMaps  *configMaps
	deployments *deployments
	services    *services
	budgets     *podDisruptionBudgets
	podIndex    cache.Indexer
	// observer is nil when nobody asks the pods what they serve.
	observer *observer.Observer

	images   resources.Images
	reporter *reporter
	statuses statuses
	tracer   oteltrace.Tracer
	claims   claims
	clock    clock.WithTicker

	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName]
	priority *priorityQueue
	backoff  workqueue.TypedRateLimiter[cache.ObjectName]
	synced   []cache.InformerSynced
	// running is false while another replica leads. Nothing is queued then, so
	// that a standby does not look like a controller that is falling behind.
	running atomic.Bool
}

// New returns a controller whose event handlers are registered with the
// informers of the configuration.
func New(config Config) (*Controller, error) {
	sites := config.WebsiteInformers.Website().V1beta1().Websites()
	configMapInformer := config.ChildInformers.Core().V1().ConfigMaps()
	deploymentInformer := config.ChildInformers.Apps().V1().Deployments()
	serviceInformer := config.ChildInformers.Core().V1().Services()

	budgetInformer := config.ChildInformers.Policy().V1().PodDisruptionBudgets()
	podInformer := config.ChildInformers.Core().V1().Pods()

	c := &Controller{
		websites:   config.Websites,
		siteLister: sites.Lister(),
		siteIndex:  sites.Informer().GetIndexer(),
		podIndex:   podInformer.Informer().GetIndexer(),
		images:     config.Images,
		reporter:   newReporter(config.Recorder),
		tracer:     tracerOf(config.TracerProvider),
		clock:      config.Clock,
		priority:   newPriorityQueue(),
		backoff:    workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](baseRetry, maxRetry),
	}
	if c.clock == nil {
		c.clock = clock.RealClock{}
	}
	c.statuses.delay, c.statuses.progressDelay = statusDelay, progressDelay
	c.queue = newQueue(c.backoff, c.priority, c.clock)
	owners := owners{cached: sites.Lister(), live: func(ctx context.Context, namespace, name string) (*v1beta1.Website, error) {
		return config.Websites.WebsiteV1beta1().Websites(namespace).Get(ctx, name, metav1.GetOptions{})
	}}
	c.configMaps = newConfigMaps(config.Kube, configMapInformer.Lister(), owners)
	c.deployments = newDeployments(config.Kube, deploymentInformer.Lister(), owners)
	c.services = newServices(config.Kube, serviceInformer.Lister(), owners)
	c.budgets = newPodDisruptionBudgets(config.Kube, budgetInformer.Lister(), owners)
	if config.Pods != nil {
		c.observer = c.newObserver(config, podInformer.Lister())
	}

	if err := podInformer.Informer().AddIndexers(podIndexers()); err != nil {
		return nil, fmt.Errorf("indexing pods: %w", err)
	}
	if err := sites.Informer().AddIndexers(indexers()); err != nil {
		return nil, fmt.Errorf("indexing Websites: %w", err)
	}
	for _, watched := range []struct {
		what     string
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{"Websites", sites.Informer(), c.websiteHandler()},
		{"ConfigMaps", configMapInformer.Informer(), c.childHandler(resources.DeploymentNameOfConfigMap)},
		{"Deployments", deploymentInformer.Informer(), c.childHandler(func(name string) (string, bool) { return name, true })},
		{"Services", serviceInformer.Informer(), c.childHandler(resources.DeploymentNameOfService)},
		{"PodDisruptionBudgets", budgetInformer.Informer(), c.childHandler(func(name string) (string, bool) { return name, true })},
		{"Pods", podInformer.Informer(), c.podHandler()},
	} {
		registration, err := watched.informer.AddEventHandler(watched.handler)
		if err != nil {
			return nil, fmt.Errorf("watching %s: %w", watched.what, err)
		}
		c.synced = append(c.synced, registration.HasSynced)
	}
	return c, nil
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

// Run works until drain is closed, then finishes what is being worked on and
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
	c.running.Store(true)
	sites, err := c.siteLister.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing Websites: %w", err)
	}
	for _, site := range sites {
		c.queue.Add(cache.MetaObjectToName(site))
	}

	if c.observer != nil {
		for _, obj := range c.podIndex.List() {
			if pod, ok := obj.(*corev1.Pod); ok {
				c.observer.Poll(pod)
			}
		}
		observation, stopObserving := context.WithCancel(ctx)
		defer stopObserving()
		background.Go(func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			c.observer.Run(observation, observationWorkers)
		})
	}

	logger.Info("Starting workers", "workers", workers, "websites", len(sites))
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
	c.running.Store(false)
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

	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	ctx = klog.NewContext(ctx, klog.LoggerWithValues(klog.FromContext(ctx), "website", key))
	start := time.Now()
	ctx, span := c.startPass(ctx, key)
	problems := c.reconcile(ctx, key)
	outcome := c.settle(ctx, key, problems)
	endPass(span, outcome, problems)
	recordReconcile(outcome, time.Since(start))
	return true
}

// enqueue queues a Website for a pass, unless another replica leads.
func (c *Controller) enqueue(key cache.ObjectName) {
	if c.running.Load() {
		c.queue.Add(key)
	}
}

// enqueueAs queues a Website, before those that are only looked at again when it
// is urgent.
func (c *Controller) enqueueAs(key cache.ObjectName, urgent bool) {
	if !c.running.Load() {
		return
	}
	if urgent {
		c.priority.mark(key)
	}
	c.queue.Add(key)
}
