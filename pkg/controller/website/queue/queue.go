// Package queue is the work queue of the controller: it determines which Website a worker takes next,
// and when a Website with problems is reconciled again.
package queue

import (
	"context"
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
	// baseRetry and maxRetry limit the delay after an error. It doubles with every error in a row;
	// the maximum keeps a site from staying down long after the cause has been fixed.
	baseRetry = 100 * time.Millisecond
	maxRetry  = 2 * time.Minute

	// PeriodicRetry is the interval between reconciliations of a Website that waits for an event that
	// no watch reports, such as the release of a node port by another Service.
	PeriodicRetry  = time.Minute
	periodicJitter = 0.2
)

// Queue is the work queue of the controller. Its methods may be called concurrently.
type Queue struct {
	workqueue.TypedRateLimitingInterface[cache.ObjectName]
	storage *priorityQueue
	// backoff is for problems that affect the site, apart for all others.
	backoff, apart workqueue.TypedRateLimiter[cache.ObjectName]
	// Running is false while another replica leads. Then events queue nothing, so that a standby does
	// not look like a controller that is falling behind.
	Running atomic.Bool
}

// New returns an empty queue, which ignores events before Running is set.
func New(clock clock.WithTicker) *Queue {
	const name = "websites"
	q := &Queue{
		storage: newPriorityQueue(),
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](baseRetry, maxRetry),
		apart:   workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](baseRetry, maxRetry),
	}
	storage := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[cache.ObjectName]{Name: name, Clock: clock,
		Queue: q.storage})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[cache.ObjectName]{Name: name,
		Clock: clock, Queue: storage})
	// The queue has no name: every name registers metrics.
	q.TypedRateLimitingInterface = workqueue.NewTypedRateLimitingQueueWithConfig(q.backoff,
		workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{DelayingQueue: delaying})
	return q
}

// Enqueue queues a Website in the background, unless another replica leads.
func (q *Queue) Enqueue(key cache.ObjectName) { q.EnqueueAs(key, Background) }

// EnqueueAs is Enqueue with a priority. A Website that waits already gets the higher of the two.
func (q *Queue) EnqueueAs(key cache.ObjectName, p Priority) {
	if !q.Running.Load() {
		return
	}
	q.storage.mark(key, p)
	q.Add(key)
}

// Requeue schedules the next reconciliation of a Website with problems, and returns the result of
// this one.
func (q *Queue) Requeue(ctx context.Context, key cache.ObjectName, problems []*problem.Problem) problem.Result {
	result, retry, after := problem.Success, problem.OnChange, time.Duration(0)
	// site and apart report whether there is a problem to retry with the respective backoff.
	var site, apart bool
	for _, p := range problems {
		requeues := q.NumRequeues(key)
		if p.Apart {
			requeues = q.NumRequeuesApart(key)
		}
		logProblem(ctx, p, requeues)
		result, retry, after = max(result, p.Result), max(retry, p.Retry), max(after, p.RetryAfter)
		site = site || p.Retry == problem.WithBackoff && !p.Apart
		apart = apart || p.Retry == problem.WithBackoff && p.Apart
	}
	if !site {
		q.Forget(key)
	}
	if !apart {
		q.apart.Forget(key)
	}
	switch {
	case site || apart:
		if result == problem.Conflict {
			// This reconciliation may have had any priority.
			q.storage.mark(key, Available)
		}
		// Both are retried when the first is due.
		next := maxRetry
		if site {
			next = min(next, q.backoff.When(key))
		}
		if apart {
			next = min(next, q.apart.When(key))
		}
		q.AddAfter(key, max(after, next))
	case retry == problem.Periodically:
		q.AddAfter(key, wait.Jitter(PeriodicRetry, periodicJitter))
	}
	return result
}

// NumRequeuesApart is NumRequeues for problems that do not affect the site.
func (q *Queue) NumRequeuesApart(key cache.ObjectName) int { return q.apart.NumRequeues(key) }

func logProblem(ctx context.Context, p *problem.Problem, requeues int) {
	logger := klog.FromContext(ctx)
	switch {
	case p.Result == problem.Conflict:
		logger.V(4).Info("Conflict, retrying", "err", p)
	case p.Result != problem.Failure:
		logger.V(2).Info("Waiting for another object", "reason", p.Reason, "err", p)
	case p.Retry == problem.WithBackoff:
		logger.Error(p, "Failed to reconcile, retrying", "retries", requeues)
	case p.Retry == problem.Periodically:
		logger.Error(p, "Failed to reconcile, retrying periodically")
	default:
		logger.Error(p, "Failed to reconcile, not retrying before the Website changes")
	}
}
