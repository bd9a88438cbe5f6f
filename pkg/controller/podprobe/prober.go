package podprobe

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/controller/fairqueue"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// Config configures a Prober.
type Config struct {
	// Client reaches the pods.
	Client Client
	// Period is the probing interval of healthy pods.
	Period time.Duration
	// Clock is the clock of the probing intervals.
	Clock clock.WithTicker
	// Sign signs the parameters of a request to a pod that ask for a change. It returns an empty
	// string without a key. Nil disables signatures.
	Sign func(pod types.UID, parameters url.Values) string
	// Workers is the number of pods that are probed concurrently, Share the number per namespace.
	Workers, Share int
}

// Prober probes the pods that it is given and remembers their answers.
type Prober struct {
	Config
	queue   workqueue.TypedDelayingInterface[key]
	fair    *fairqueue.Queue[key]
	changes chan cache.ObjectName

	mu   sync.Mutex
	pods map[types.UID]*record
	// siblings has the pods of each Website.
	siblings map[cache.ObjectName][]*record
	// rounds has the Websites whose pods hold releases back.
	rounds map[cache.ObjectName]*round
	// deploys are the Websites with a desired state, due those with pending requests to their pods or
	// an end of their round, and deployLimit limits these requests.
	deploys     map[cache.ObjectName]*deployed
	due         workqueue.TypedDelayingInterface[cache.ObjectName]
	deployLimit *limiter

	// waits and urgent limit the requests that wait.
	waits, urgent *limiter
	maxHold       time.Duration
	waiting       sync.WaitGroup
	// turns numbers the requests.
	turns uint64
}

// record is a pod and its observed state.
type record struct {
	website cache.ObjectName
	pod     *cached.Pod
	// begun is the time of the last probe.
	begun time.Time
	// turn is the number of the current request, and cancel ends it if it waits.
	turn   uint64
	cancel context.CancelFunc
	// exactly is true if the next probe must be on time, without jitter.
	exactly bool
	// early counts the requests in a row that should have waited, but returned early without news.
	early int
	// asks limits the probes for commits of other pods, prompts the immediate requests that answers of the pod itself
	// cause. They are nil before the first one to save memory.
	asks, prompts *rate.Limiter
	// waiting is the request that waits, or nil.
	waiting *ask
	// deployed is the last request to sync or to serve a commit. The next request of the same content
	// is sent after deployTime, which depends on the number of failures in a row.
	deployed       deployment
	deployTime     time.Time
	deployFailures int
	state
}

// key is a pod to probe, with its namespace, by which workers are shared.
type key struct {
	namespace string
	uid       types.UID
}

func (r *record) key() key { return key{r.pod.Namespace, r.pod.UID} }

// mayAsk reports whether the pod may be probed now for the commit of another one.
func (r *record) mayAsk(now time.Time) bool {
	if r.asks == nil {
		r.asks = rate.NewLimiter(rate.Every(siblingPeriod), maxSiblingAsks)
	}
	return r.asks.AllowN(now, 1)
}

// mayPrompt reports whether the pod may get an immediate request now.
func (r *record) mayPrompt(now time.Time) bool {
	if r.prompts == nil {
		r.prompts = rate.NewLimiter(rate.Every(promptPeriod), maxPrompts)
	}
	return r.prompts.AllowN(now, 1)
}

// New returns a Prober. It sends no probes before Run.
func New(config Config) *Prober {
	const name = "pods"
	fair := fairqueue.New(config.Share, func(k key) string { return k.namespace })
	storage := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[key]{Name: name, Clock: config.Clock, Queue: fair})
	return &Prober{
		Config: config,
		fair:   fair,
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[key]{
			Name: name, Clock: config.Clock, Queue: storage,
		}),
		// The queue has no name: every name registers metrics.
		due: workqueue.NewTypedDelayingQueueWithConfig(
			workqueue.TypedDelayingQueueConfig[cache.ObjectName]{Clock: config.Clock},
		),

		changes:  make(chan cache.ObjectName),
		pods:     map[types.UID]*record{},
		siblings: map[cache.ObjectName][]*record{},
		rounds:   map[cache.ObjectName]*round{},
		deploys:  map[cache.ObjectName]*deployed{},
		waits:    newLimiter(maxWaiting, shareWaiting),
		urgent:   newLimiter(maxUrgent, shareUrgent),
		maxHold:  defaultMaxHold,

		deployLimit: newLimiter(maxDeploying, shareDeploying),
	}
}

// Observation returns the observed state of a pod. It reports false before the first result.
func (p *Prober) Observation(pod types.UID) (workload.Observation, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.pods[pod]
	if r == nil || !r.probed {
		return workload.Observation{}, false
	}
	return r.Observation, true
}

// Changes sends the names of Websites whose observed pods have changed. It must be read while Run
// runs.
func (p *Prober) Changes() <-chan cache.ObjectName { return p.changes }

// Probe probes a pod of a Website soon, because it is new or has changed, and then periodically until
// Forget.
func (p *Prober) Probe(website cache.ObjectName, pod *cached.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.pods[pod.UID]
	if r == nil {
		r = &record{}
		p.pods[pod.UID] = r
	}
	if r.website != website {
		p.removeSibling(r)
		p.siblings[website] = append(p.siblings[website], r)
	}
	r.website, r.pod = website, pod
	p.enqueue(r)
}

// enqueue queues a pod, but not within minPeriod of its last probe. The caller holds the lock.
func (p *Prober) enqueue(r *record) {
	p.queue.AddAfter(r.key(), minPeriod-p.Clock.Since(r.begun))
}

// Forget stops the probing of a pod that is gone, or belongs to no Website any more, and drops its
// observed state.
func (p *Prober) Forget(pod types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.pods[pod]; r != nil {
		p.supersede(r)
		p.removeSibling(r)
		delete(p.pods, pod)
	}
}

// removeSibling removes a pod from its Website. The caller holds the lock.
func (p *Prober) removeSibling(r *record) {
	others := slices.DeleteFunc(p.siblings[r.website], func(other *record) bool { return other == r })
	if p.siblings[r.website] = others; len(others) == 0 {
		delete(p.siblings, r.website)
	}
}

// Run probes until the context ends.
func (p *Prober) Run(ctx context.Context) {
	var pool sync.WaitGroup
	defer p.waiting.Wait()
	defer pool.Wait()
	defer p.queue.ShutDown()
	defer p.due.ShutDown()
	pool.Go(func() {
		defer utilruntime.HandleCrashWithContext(ctx)
		for p.nextDue(ctx) {
		}
	})
	for range p.Workers {
		pool.Go(func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			for p.next(ctx) {
			}
		})
	}
	<-ctx.Done()
}

func (p *Prober) next(ctx context.Context) bool {
	key, shutdown := p.queue.Get()
	if shutdown {
		return false
	}
	begun := p.Clock.Now()
	defer func() {
		p.fair.Finish(key, p.Clock.Since(begun))
		p.queue.Done(key)
	}()
	pod, turn, a := p.begin(ctx, key.uid)
	if ctx.Err() != nil || pod == nil {
		return true
	}
	got, err := p.request(ctx, pod, a)
	p.handleAnswer(ctx, pod, a, turn, begun, got, err)
	return true
}

// begin returns a pod to probe now and the request for it. The pod is nil when it has been forgotten,
// cannot answer, or a request to it waits.
func (p *Prober) begin(ctx context.Context, uid types.UID) (pod *cached.Pod, turn uint64, a ask) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.pods[uid]
	if r == nil {
		return nil, 0, ask{}
	}
	if !workload.CanAnswer(r.pod) {
		p.supersede(r)
		if workload.HasEnded(r.pod) {
			r.state = state{} // The last answer must not outlive the pod.
		}
		return nil, 0, ask{}
	}
	if r.waiting != nil && r.waiting.deploys() {
		return nil, 0, ask{} // Its answer causes the next probe.
	}
	if a = p.plan(r); a.wait > 0 {
		if p.start(ctx, r, a, p.waits) {
			return nil, 0, ask{}
		}
		a = ask{crowded: true}
	}
	return r.pod, p.supersede(r), a
}

// handleAnswer records the answer to a request, and queues and returns the time until the next one, without
// jitter. It returns 0 when the pod has been forgotten or requested again meanwhile.
func (p *Prober) handleAnswer(ctx context.Context, pod *cached.Pod, made ask, turn uint64, begun time.Time, got answer,
	err error) time.Duration {
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).V(4).Info("Pod did not answer a probe", "pod", klog.KObj(pod), "err", err)
	}
	now := p.Clock.Now()
	p.mu.Lock()
	r := p.pods[pod.UID]
	if r == nil || r.turn != turn || ctx.Err() != nil {
		p.mu.Unlock()
		return 0
	}
	r.waiting = nil
	before, wasProbed, wasUnhealthy, wasPrepared := r.Observation, r.probed, r.isUnhealthy(), r.prepared
	r.update(got, err, now)
	after, isProbed, website := r.Observation, r.probed, r.website
	if err == nil && wasUnhealthy && wasProbed && after == before {
		r.unchanged++
	} else {
		r.unchanged = 0
	}
	again := p.again(r, made, now.Sub(begun), after != before || r.prepared != wasPrepared)
	exactly := r.exactly
	p.recordSeen(r, got, wasProbed, now)
	p.deployAnswered(r, made, now.Sub(begun), err)
	if after.Commit != before.Commit {
		p.expect(ctx, website, after.Commit)
	}
	p.coordinate(ctx, website)
	p.watchHold(ctx, r, made, turn)
	p.mu.Unlock()
	next := again
	if !exactly {
		next = wait.Jitter(again, jitter)
	}
	p.queue.AddAfter(key{pod.Namespace, pod.UID}, next)
	if after != before || isProbed != wasProbed {
		p.notify(ctx, website)
	}
	return again
}

func (p *Prober) notify(ctx context.Context, website cache.ObjectName) {
	select {
	case p.changes <- website:
	case <-ctx.Done():
	}
}
