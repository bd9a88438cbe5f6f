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
	// staying down long after what was wrong has been corrected.
	baseRetry = 100 * time.Millisecond
	maxRetry  = 2 * time.Minute

	// periodicRetry is how often a Website is reconciled while it waits for something
	// whose end sends no event, such as a node port that another Service has.
	periodicRetry  = time.Minute
	periodicJitter = 0.2

	// maxSkipped is how many Websites of other priorities are taken while one waits,
	// before it has its turn: a low priority is slow at busy times, but never starves.
	maxSkipped = 10
)

// priority is how soon a Website is reconciled.
type priority int

const (
	// background is for what is only reconciled once more: the initial list, probes,
	// retries, events that change neither a spec nor what is available.
	background priority = iota
	// changed is for new and changed Websites and for edited children.
	changed
	// available is for Deployments that became or are no longer available. It comes
	// first, because otherwise a flood of new Websites delays Ready of those that are
	// served already. It takes little, and cannot be caused faster than Websites of
	// the other priorities are reconciled.
	available

	priorities = iota
)

// websiteQueue is the work queue of the controller.
type websiteQueue struct {
	workqueue.TypedRateLimitingInterface[cache.ObjectName]
	storage *priorityQueue
	backoff workqueue.TypedRateLimiter[cache.ObjectName]
	// running is false while another replica leads. Events queue nothing then, so
	// that a standby does not look like a controller that is falling behind.
	running atomic.Bool
}

func newWebsiteQueue(clock clock.WithTicker) *websiteQueue {
	const name = "websites"
	q := &websiteQueue{
		storage: newPriorityQueue(),
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](baseRetry, maxRetry),
	}
	storage := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[cache.ObjectName]{Name: name, Clock: clock, Queue: q.storage})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[cache.ObjectName]{Name: name, Clock: clock, Queue: storage})
	// Without the name: each name registers metrics.
	q.TypedRateLimitingInterface = workqueue.NewTypedRateLimitingQueueWithConfig(q.backoff,
		workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{DelayingQueue: delaying})
	return q
}

// enqueue has a Website reconciled in the background, unless another replica leads.
func (q *websiteQueue) enqueue(key cache.ObjectName) { q.enqueueAs(key, background) }

// enqueueAs is enqueue with a priority. A Website that waits already gets the higher
// of the two.
func (q *websiteQueue) enqueueAs(key cache.ObjectName, p priority) {
	if !q.running.Load() {
		return
	}
	q.storage.mark(key, p)
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
		if result == problem.Conflict {
			// What it was reconciled for may have had any priority.
			q.storage.mark(key, available)
		}
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

// priorityQueue hands out Websites by priority, and those of one priority in the
// order in which they came. It is the storage below a work queue, which calls it
// under its own lock; only priorities are marked from outside.
type priorityQueue struct {
	mu sync.Mutex
	// marked are the priorities of the next Add of Websites.
	marked map[cache.ObjectName]priority

	// lanes hold the keys that wait, and skipped counts the keys that were taken from
	// other lanes while there were any.
	lanes   [priorities]list.List
	skipped [priorities]int
	waiting map[cache.ObjectName]place
}

// place is where a key waits.
type place struct {
	lane    priority
	element *list.Element
}

var _ workqueue.Queue[cache.ObjectName] = &priorityQueue{}

func newPriorityQueue() *priorityQueue {
	return &priorityQueue{marked: map[cache.ObjectName]priority{}, waiting: map[cache.ObjectName]place{}}
}

// mark gives the next Add of a Website a priority, unless it has a higher one.
func (q *priorityQueue) mark(key cache.ObjectName, p priority) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p > q.marked[key] {
		q.marked[key] = p
	}
}

func (q *priorityQueue) takeMark(key cache.ObjectName) priority {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.marked[key]
	delete(q.marked, key)
	return p
}

// Touch moves a Website that waits to the lane of a higher priority.
func (q *priorityQueue) Touch(key cache.ObjectName) {
	if p, at := q.takeMark(key), q.waiting[key]; p > at.lane {
		q.lanes[at.lane].Remove(at.element)
		q.waiting[key] = place{p, q.lanes[p].PushBack(key)}
	}
}

// Push adds a Website.
func (q *priorityQueue) Push(key cache.ObjectName) {
	p := q.takeMark(key)
	q.waiting[key] = place{p, q.lanes[p].PushBack(key)}
}

// Len returns how many Websites wait.
func (q *priorityQueue) Len() int { return len(q.waiting) }

// Pop returns the next Website. The work queue calls it only when there is one.
func (q *priorityQueue) Pop() cache.ObjectName {
	next := q.next()
	for lane := range q.lanes {
		if q.lanes[lane].Len() == 0 || priority(lane) == next {
			q.skipped[lane] = 0
		} else {
			q.skipped[lane]++
		}
	}
	lane := &q.lanes[next]
	key := lane.Remove(lane.Front()).(cache.ObjectName)
	delete(q.waiting, key)
	return key
}

// next returns the lane to take from: the one that was skipped too often, or else
// that of the highest priority.
func (q *priorityQueue) next() priority {
	highest := background
	for lane := range q.lanes {
		if q.lanes[lane].Len() == 0 {
			continue
		}
		if q.skipped[lane] >= maxSkipped {
			return priority(lane)
		}
		highest = priority(lane)
	}
	return highest
}
