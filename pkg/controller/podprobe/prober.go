package podprobe

import (
	"context"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

const (
	// unsettledPeriod is the probing interval of a pod about which something is
	// not right or not known yet.
	unsettledPeriod = 5 * time.Second
	// jitter spreads the probes of pods that started together.
	jitter = 0.2
	// unreachableAfter is how many probes in a row must fail before a pod counts
	// as unreachable: one can be lost.
	unreachableAfter = 2
	// maxBackoff is how many periods there are at most between two probes of a pod
	// that does not answer.
	maxBackoff = 4
	// graceForFirstFetch is how long a pod may be without a commit before its
	// log is read.
	graceForFirstFetch = 10 * time.Second
)

// Config is what a Prober works with.
type Config struct {
	// Client reaches the pods.
	Client Client
	// Period is the probing interval of healthy pods.
	Period time.Duration
	// Clock tells the time.
	Clock clock.WithTicker
}

// Prober probes the pods that it is given and remembers what they say.
type Prober struct {
	Config
	queue   workqueue.TypedDelayingInterface[types.UID]
	changes chan cache.ObjectName

	mu   sync.Mutex
	pods map[types.UID]*record
}

// record is a pod and what is known of it.
type record struct {
	website cache.ObjectName
	pod     *corev1.Pod
	state
}

// New returns a prober that probes nothing before Run.
func New(config Config) *Prober {
	return &Prober{
		Config: config,
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[types.UID]{
			Name: "pods", Clock: config.Clock,
		}),
		changes: make(chan cache.ObjectName),
		pods:    map[types.UID]*record{},
	}
}

// Observation returns what is known of a pod. It reports false when nothing is
// yet.
func (p *Prober) Observation(pod types.UID) (workload.Observation, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.pods[pod]
	if known == nil || !known.known {
		return workload.Observation{}, false
	}
	return known.Observation, true
}

// Changes names Websites as soon as something else is known of their pods. While
// Run runs it must be read.
func (p *Prober) Changes() <-chan cache.ObjectName { return p.changes }

// Probe probes a pod of a Website soon, because it is new or has changed, and
// goes on until Forget.
func (p *Prober) Probe(website cache.ObjectName, pod *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.pods[pod.UID]
	if known == nil {
		known = &record{}
		p.pods[pod.UID] = known
	}
	known.website, known.pod = website, pod
	p.queue.Add(pod.UID)
}

// Forget stops the probing of a pod that is gone, or belongs to no Website any
// more, and drops what is known of it.
func (p *Prober) Forget(pod types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pods, pod)
}

// Run probes until the context ends, at most so many pods at once.
func (p *Prober) Run(ctx context.Context, workers int) {
	var pool sync.WaitGroup
	defer pool.Wait()
	defer p.queue.ShutDown()
	for range workers {
		pool.Go(func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			for p.next(ctx) {
			}
		})
	}
	<-ctx.Done()
}

func (p *Prober) next(ctx context.Context) bool {
	uid, shutdown := p.queue.Get()
	if shutdown {
		return false
	}
	defer p.queue.Done(uid)
	pod := p.podOf(uid)
	if ctx.Err() != nil || pod == nil {
		return true
	}
	var again time.Duration
	switch {
	case workload.CanAnswer(pod):
		again = wait.Jitter(p.probe(ctx, pod), jitter)
	case workload.HasEnded(pod) && pod.DeletionTimestamp.IsZero():
		again = p.explainEnd(ctx, pod)
	}
	if again > 0 && p.podOf(uid) != nil {
		p.queue.AddAfter(uid, again)
	}
	return true
}

func (p *Prober) podOf(uid types.UID) *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.pods[uid]; known != nil {
		return known.pod
	}
	return nil
}

// probe probes one pod and returns when to do so again, or 0 when it has been
// forgotten meanwhile.
func (p *Prober) probe(ctx context.Context, pod *corev1.Pod) time.Duration {
	answer, counts, err := p.request(ctx, pod)
	if err != nil {
		klog.FromContext(ctx).V(4).Info("Pod did not answer a probe", "pod", klog.KObj(pod), "err", err)
	}
	now := p.Clock.Now()

	p.mu.Lock()
	known := p.pods[pod.UID]
	if known == nil {
		p.mu.Unlock()
		return 0
	}
	before, wasKnown := known.Observation, known.known
	readLog := known.update(answer, counts, err, now)
	p.mu.Unlock()

	if readLog {
		p.explainFailure(ctx, pod)
	}

	p.mu.Lock()
	after, isKnown, again, website := known.Observation, known.known, p.again(&known.state), known.website
	if after.Commit != before.Commit {
		// What one pod has fetched, the others are about to.
		for uid, other := range p.pods {
			if other.website == website && uid != pod.UID {
				p.queue.Add(uid)
			}
		}
	}
	p.mu.Unlock()
	if after != before || isKnown != wasKnown {
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

// again returns when to probe a pod once more. One that does not answer holds a
// worker until the request times out, so it is probed less and less often.
func (p *Prober) again(s *state) time.Duration {
	switch {
	case s.failures >= unreachableAfter:
		return min(unsettledPeriod<<min(s.failures-unreachableAfter, 10), maxBackoff*p.Period)
	case s.unsettled():
		return min(unsettledPeriod, p.Period)
	default:
		return p.Period
	}
}

// request makes the requests of one probe. A git-sync that does not answer does
// not make the pod unreachable: the website is served without it.
func (p *Prober) request(ctx context.Context, pod *corev1.Pod) (workload.Observation, *syncCounts, error) {
	var answer workload.Observation
	code, body, err := p.Client.Get(ctx, pod, resources.AdminPort, "/commit")
	if err != nil {
		return answer, nil, err
	}
	if answer.Commit, err = parseCommit(code, body); err != nil {
		return answer, nil, err
	}
	if code, body, err = p.Client.Get(ctx, pod, resources.AdminPort, "/startupz"); err != nil {
		return answer, nil, err
	}
	answer.PathNotFound = isPathNotFound(code, body)

	code, body, err = p.Client.Get(ctx, pod, resources.SyncMetricsPort, "/metrics")
	if err != nil || code != http.StatusOK {
		return answer, nil, nil
	}
	counts, err := parseCounts(body)
	if err != nil {
		return answer, nil, nil
	}
	return answer, &counts, nil
}
