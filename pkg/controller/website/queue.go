package website

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

const (
	// baseRetry and maxRetry bound how long a Website waits after an error. The
	// wait doubles with every error in a row; the bound keeps a website from
	// staying down long after what was wrong has been put right.
	baseRetry = 100 * time.Millisecond
	maxRetry  = 2 * time.Minute

	// periodicRetry is how often a Website is reconciled while something is in its
	// way that may go without an event: what is not labelled as ours sends none.
	periodicRetry  = time.Minute
	periodicJitter = 0.2

	// urgentInARow is how many urgent Websites are taken while others wait, before
	// one of those has its turn: what is periodic is slow at such times, but never
	// stands still.
	urgentInARow = 10
)

// websiteQueue is the work queue of the controller.
type websiteQueue struct {
	workqueue.TypedRateLimitingInterface[cache.ObjectName]
	priority *priorityQueue
	backoff  workqueue.TypedRateLimiter[cache.ObjectName]
	// running is false while another replica leads. Events queue nothing then, so
	// that a standby does not look like a controller that is falling behind.
	running atomic.Bool
}

func newWebsiteQueue(clock clock.WithTicker) *websiteQueue {
	const name = "websites"
	q := &websiteQueue{
		priority: newPriorityQueue(),
		backoff:  workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](baseRetry, maxRetry),
	}
	storage := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[cache.ObjectName]{Name: name, Clock: clock, Queue: q.priority})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[cache.ObjectName]{Name: name, Clock: clock, Queue: storage})
	// Without the name: each name registers metrics.
	q.TypedRateLimitingInterface = workqueue.NewTypedRateLimitingQueueWithConfig(q.backoff,
		workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{DelayingQueue: delaying})
	return q
}

// enqueue has a Website reconciled, unless another replica leads.
func (q *websiteQueue) enqueue(key cache.ObjectName) { q.enqueueAs(key, false) }

// enqueueAs is enqueue, in front of Websites that are only reconciled once more
// when it is urgent.
func (q *websiteQueue) enqueueAs(key cache.ObjectName, urgent bool) {
	if !q.running.Load() {
		return
	}
	if urgent {
		q.priority.mark(key)
	}
	q.Add(key)
}

// requeue decides when a Website is reconciled again because of its problems, and
// returns the result of the reconciliation.
func (q *websiteQueue) requeue(ctx context.Context, key cache.ObjectName, problems []*problem.Problem) problem.Result {
	result, retry, after := problem.Success, problem.OnChange, time.Duration(0)
	for _, p := range problems {
		logProblem(ctx, p, q.NumRequeues(key))
		result, retry, after = max(result, p.Result), max(retry, p.Retry), max(after, p.RetryAfter)
	}
	switch retry {
	case problem.WithBackoff:
		q.AddAfter(key, max(after, q.backoff.When(key)))
	case problem.Periodically:
		q.Forget(key)
		q.AddAfter(key, wait.Jitter(periodicRetry, periodicJitter))
	default:
		q.Forget(key)
	}
	return result
}

func logProblem(ctx context.Context, p *problem.Problem, requeues int) {
	logger := klog.FromContext(ctx)
	switch {
	case p.Result == problem.Conflict:
		logger.V(4).Info("Conflict, retrying", "err", p)
	case p.Result != problem.Failure:
		logger.V(2).Info("Waiting for another object", "reason", p.Reason, "err", p)
	case p.Retry == problem.WithBackoff:
		logger.Error(p, "Failed to reconcile, retrying", "retries", requeues)
	default:
		logger.Error(p, "Failed to reconcile, not retrying before the Website changes")
	}
}

// priorityQueue hands out Websites that users have changed before those that
// are only reconciled once more. It is the storage below a work queue, which calls
// it under its own lock; only urgency is marked from outside.
type priorityQueue struct {
	mu sync.Mutex
	// urgent are the Websites to push in front with their next Add.
	urgent map[cache.ObjectName]bool

	// first and second hold keys, in the order in which they came.
	first, second list.List
	waiting       map[cache.ObjectName]*list.Element
	// inFirst tells in which of the two a key that waits is.
	inFirst map[cache.ObjectName]bool
	// row counts the urgent ones that were taken since one of the others was.
	row int
}

var _ workqueue.Queue[cache.ObjectName] = &priorityQueue{}

func newPriorityQueue() *priorityQueue {
	return &priorityQueue{
		urgent:  map[cache.ObjectName]bool{},
		waiting: map[cache.ObjectName]*list.Element{},
		inFirst: map[cache.ObjectName]bool{},
	}
}

// mark makes the next Add of a Website an urgent one.
func (q *priorityQueue) mark(key cache.ObjectName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.urgent[key] = true
}

func (q *priorityQueue) takeMark(key cache.ObjectName) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	marked := q.urgent[key]
	delete(q.urgent, key)
	return marked
}

// Touch moves a Website that waits to the front, if it has become urgent.
func (q *priorityQueue) Touch(key cache.ObjectName) {
	if q.takeMark(key) && !q.inFirst[key] {
		q.second.Remove(q.waiting[key])
		q.waiting[key], q.inFirst[key] = q.first.PushBack(key), true
	}
}

// Push adds a Website.
func (q *priorityQueue) Push(key cache.ObjectName) {
	if q.takeMark(key) {
		q.waiting[key], q.inFirst[key] = q.first.PushBack(key), true
	} else {
		q.waiting[key] = q.second.PushBack(key)
	}
}

// Len returns how many Websites wait.
func (q *priorityQueue) Len() int { return len(q.waiting) }

// Pop returns the next Website. The work queue calls it only when there is one.
func (q *priorityQueue) Pop() cache.ObjectName {
	from := &q.first
	if q.first.Len() == 0 || (q.row >= urgentInARow && q.second.Len() > 0) {
		from = &q.second
	}
	if q.row++; from == &q.second {
		q.row = 0
	}
	key := from.Remove(from.Front()).(cache.ObjectName)
	delete(q.waiting, key)
	delete(q.inFirst, key)
	return key
}
