package observer

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
)

const (
	// unsettledPeriod is how often a pod is asked about which something is not
	// right or not known yet.
	unsettledPeriod = 5 * time.Second
	// jitter spreads the polls of pods that started together.
	jitter = 0.2
	// unreachableAfter is how many polls in a row must fail before a pod counts
	// as unreachable: one can be lost.
	unreachableAfter = 2
	// maxBackoff is how many periods there are at most between two polls of a pod
	// that does not answer.
	maxBackoff = 4
	// graceForFirstFetch is how long a pod may be without a commit before its
	// log is looked at.
	graceForFirstFetch = 10 * time.Second
)

// Observation is what is known of a pod.
type Observation struct {
	// Reachable is false when the pod does not answer. The rest is then what it
	// answered last.
	Reachable bool
	// Commit is what the pod serves; empty while it has nothing.
	Commit string
	// PathNotFound is true when the published path is not in that commit.
	PathNotFound bool
	// Failure is why the repository cannot be fetched.
	Failure Failure
	// FollowingUnknown is true while it is not known whether fetching works, as the
	// pod has been asked only once since it failed and worked, or while it is
	// being found out why it does not.
	FollowingUnknown bool
	// SyncUnreachable is true when the pod answers, but git-sync in it does not.
	SyncUnreachable bool
	// Eviction is why the kubelet has ended the pod. It is empty for one that has
	// not ended, and when nobody says why; nothing else is then known of it.
	Eviction string
}

// Config is what an Observer works with.
type Config struct {
	// Pods is what is asked.
	Pods Pods
	// Lookup returns a pod as it is in the cache.
	Lookup func(key cache.ObjectName) (*corev1.Pod, error)
	// Wanted reports whether a pod is one to ask: labels like those of website pods
	// can be given to any pod.
	Wanted func(pod *corev1.Pod) bool
	// Siblings returns the pods of the same Website.
	Siblings func(pod *corev1.Pod) []*corev1.Pod
	// Changed is told of every pod about which something else is known than
	// before.
	Changed func(pod *corev1.Pod)
	// Period is how often a pod is asked with which all is well.
	Period time.Duration
	// AdminPort and SyncMetricsPort are the ports to ask.
	AdminPort, SyncMetricsPort int32
	// Clock tells the time.
	Clock clock.WithTicker
}

// Observer polls pods and remembers what they say.
type Observer struct {
	Config
	queue workqueue.TypedDelayingInterface[cache.ObjectName]

	mu   sync.Mutex
	pods map[types.UID]*record
}

// record is what is remembered of a pod.
type record struct {
	Observation
	// known is false until there is something to say.
	known bool
	// failures counts the polls in a row that failed.
	failures int
	// ended is true once the pod has. The failures are then those to find out
	// why.
	ended bool
	// silent counts the polls in a row in which git-sync did not answer.
	silent    int
	counts    *syncCounts
	following following
	first     time.Time
	logRead   time.Time
}

// New returns an observer that polls nothing before Run.
func New(config Config) *Observer {
	return &Observer{
		Config: config,
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[cache.ObjectName]{
			Name: "pods", Clock: config.Clock,
		}),
		pods: map[types.UID]*record{},
	}
}

// Of returns what is known of a pod. It reports false when nothing is yet.
func (o *Observer) Of(pod types.UID) (Observation, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.pods[pod]
	if known == nil || !known.known {
		return Observation{}, false
	}
	return known.Observation, true
}

// Poll asks a pod soon, because it has changed.
func (o *Observer) Poll(pod *corev1.Pod) { o.queue.Add(cache.MetaObjectToName(pod)) }

// Forget drops what is known of a pod that is gone.
func (o *Observer) Forget(pod types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.pods, pod)
}

// Run polls until the context ends. At most workers pods are asked at once.
func (o *Observer) Run(ctx context.Context, workers int) {
	var pool sync.WaitGroup
	defer pool.Wait()
	defer o.queue.ShutDown()
	for range workers {
		pool.Go(func() {
			defer utilruntime.HandleCrashWithContext(ctx)
			for o.next(ctx) {
			}
		})
	}
	<-ctx.Done()
}

func (o *Observer) next(ctx context.Context) bool {
	key, shutdown := o.queue.Get()
	if shutdown {
		return false
	}
	defer o.queue.Done(key)
	if ctx.Err() != nil {
		return true
	}
	pod, err := o.Lookup(key)
	if err != nil {
		return true
	}
	if !o.Wanted(pod) {
		o.Forget(pod.UID) // It may have been, before its Website was deleted.
		return true
	}
	var again time.Duration
	switch {
	case CanAnswer(pod):
		again = wait.Jitter(o.observe(ctx, pod), jitter)
	case HasEnded(pod) && pod.DeletionTimestamp.IsZero():
		again = o.explainEnd(ctx, pod)
	default:
		return true // Its next change brings it back.
	}
	if current, err := o.Lookup(key); err != nil || current.UID != pod.UID {
		o.Forget(pod.UID) // Gone meanwhile.
		return true
	}
	if again > 0 {
		o.queue.AddAfter(key, again)
	}
	return true
}

// CanAnswer reports whether there is somebody in a pod who could say something.
func CanAnswer(pod *corev1.Pod) bool {
	return pod.Status.PodIP != "" && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp.IsZero()
}

// observe asks one pod and returns when to ask again.
func (o *Observer) observe(ctx context.Context, pod *corev1.Pod) time.Duration {
	logger := klog.FromContext(ctx)
	answer, counts, err := o.ask(ctx, pod)
	now := o.Clock.Now()

	o.mu.Lock()
	known := o.pods[pod.UID]
	if known == nil {
		known = &record{first: now}
		o.pods[pod.UID] = known
	}
	before, wasKnown := known.Observation, known.known
	readLog := false
	if err != nil {
		logger.V(4).Info("A pod does not answer", "pod", klog.KObj(pod), "err", err)
		if known.failures++; known.failures >= unreachableAfter {
			known.Reachable, known.known = false, true
		}
	} else {
		known.failures = 0
		known.Observation = Observation{Reachable: true, Commit: answer.Commit, PathNotFound: answer.PathNotFound, Failure: before.Failure}
		known.known = true
		if known.silent++; counts != nil {
			known.silent = 0
			known.following = counts.follow(known.counts, known.following)
			known.counts = counts
		}
		switch {
		case known.following == followingYes:
			known.Failure = FailureNone
		case known.following == followingNo:
			readLog = true
		case answer.Commit == "" && now.Sub(known.first) >= graceForFirstFetch:
			readLog = true
		case answer.Commit != before.Commit:
			known.Failure = FailureNone // It was fetched, though git-sync does not say so.
		}
		known.FollowingUnknown = known.following == followingUnknown || readLog && known.Failure == FailureNone
		known.SyncUnreachable = known.silent >= unreachableAfter
		if readLog = readLog && now.Sub(known.logRead) >= logPeriod; readLog {
			known.logRead = now
		} else {
			known.fail(FailureUnknown)
		}
	}
	o.mu.Unlock()

	if readLog {
		o.explain(ctx, pod)
	}

	o.mu.Lock()
	after, isKnown, again := known.Observation, known.known, o.again(known)
	o.mu.Unlock()
	if after != before || isKnown != wasKnown {
		o.Changed(pod)
		if after.Commit != before.Commit {
			// What one pod has fetched, the others are about to.
			for _, sibling := range o.Siblings(pod) {
				if sibling.UID != pod.UID {
					o.Poll(sibling)
				}
			}
		}
	}
	return again
}

// again returns when to ask a pod once more. One that does not answer holds a
// worker until the request times out, so it is asked less and less often.
func (o *Observer) again(known *record) time.Duration {
	switch {
	case known.failures >= unreachableAfter:
		return min(unsettledPeriod<<min(known.failures-unreachableAfter, 10), maxBackoff*o.Period)
	case known.unsettled():
		return min(unsettledPeriod, o.Period)
	default:
		return o.Period
	}
}

// unsettled reports whether something is not right or not known yet. A git-sync
// that did not answer once is asked again soon; one that never does need not be.
func (r *record) unsettled() bool {
	return !r.Reachable || r.Commit == "" || r.PathNotFound || r.Failure != FailureNone || r.silent > 0 && !r.SyncUnreachable
}

// ask makes the requests of one poll. A git-sync that does not answer does not
// make the pod unreachable: the site is served without it.
func (o *Observer) ask(ctx context.Context, pod *corev1.Pod) (Observation, *syncCounts, error) {
	var answer Observation
	code, body, err := o.Pods.Get(ctx, pod, o.AdminPort, "/commit")
	if err != nil {
		return answer, nil, err
	}
	if answer.Commit, err = parseCommit(code, body); err != nil {
		return answer, nil, err
	}
	if code, body, err = o.Pods.Get(ctx, pod, o.AdminPort, "/startupz"); err != nil {
		return answer, nil, err
	}
	answer.PathNotFound = isPathNotFound(code, body)

	code, body, err = o.Pods.Get(ctx, pod, o.SyncMetricsPort, "/metrics")
	if err != nil || code != http.StatusOK {
		return answer, nil, nil
	}
	counts, err := parseCounts(body)
	if err != nil {
		return answer, nil, nil
	}
	return answer, &counts, nil
}
