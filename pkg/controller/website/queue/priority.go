package queue

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubesites/website-apiserver/pkg/controller/fairqueue"
)

// Priority is the priority of a Website in the queue.
type Priority int

const (
	// Background is for the initial list, probes, retries, and events that change neither a spec nor
	// an availability.
	Background Priority = iota
	// Changed is for new and changed Websites and for edited children.
	Changed
	// Available is for Deployments that became or are no longer available. It comes first, because
	// otherwise a flood of new Websites would delay Ready of served ones. Such events are cheap, and
	// cannot occur faster than Websites of the other priorities are reconciled.
	Available

	priorities = iota
)

// ChangedIf returns Changed if the object has changed, otherwise Background.
func ChangedIf(changed bool) Priority {
	if changed {
		return Changed
	}
	return Background
}

// maxSkipped is the number of Websites of other priorities that are taken while one waits: a low
// priority is slow at busy times, but never starves.
const maxSkipped = 10

// turn is the cost of a Website in a lane: all namespaces get the same number of turns.
const turn = 1

// priorityQueue hands out Websites by priority. Within a priority namespaces take turns, and the
// Websites of a namespace keep their order of arrival: a namespace with thousands of changes delays
// the others by one Website each. It is the storage below a work queue, which calls it under its own
// lock; only mark is called from outside.
type priorityQueue struct {
	mu sync.Mutex
	// marked has the priorities for the next Add of Websites.
	marked map[cache.ObjectName]Priority

	// lanes hold the waiting keys, and skipped counts the keys that were taken from other lanes while
	// a lane had keys.
	lanes   [priorities]*fairqueue.Queue[cache.ObjectName]
	skipped [priorities]int
	// waiting has the lane of each key.
	waiting map[cache.ObjectName]Priority
}

var _ workqueue.Queue[cache.ObjectName] = &priorityQueue{}

func newPriorityQueue() *priorityQueue {
	q := &priorityQueue{marked: map[cache.ObjectName]Priority{}, waiting: map[cache.ObjectName]Priority{}}
	for lane := range q.lanes {
		q.lanes[lane] = fairqueue.New(1, func(key cache.ObjectName) string { return key.Namespace })
	}
	return q
}

// mark sets the priority of the next Add of a Website, unless it has a higher one.
func (q *priorityQueue) mark(key cache.ObjectName, p Priority) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p > q.marked[key] {
		q.marked[key] = p
	}
}

func (q *priorityQueue) takeMark(key cache.ObjectName) Priority {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.marked[key]
	delete(q.marked, key)
	return p
}

// Touch moves a waiting Website to the lane of a higher priority.
func (q *priorityQueue) Touch(key cache.ObjectName) {
	if p, at := q.takeMark(key), q.waiting[key]; p > at {
		q.lanes[at].Remove(key)
		q.push(key, p)
	}
}

// Push adds a Website.
func (q *priorityQueue) Push(key cache.ObjectName) { q.push(key, q.takeMark(key)) }

func (q *priorityQueue) push(key cache.ObjectName, p Priority) {
	q.lanes[p].Push(key)
	q.waiting[key] = p
}

// Len returns the number of waiting Websites.
func (q *priorityQueue) Len() int { return len(q.waiting) }

// Pop returns the next Website. The work queue calls it only when Len is not 0.
func (q *priorityQueue) Pop() cache.ObjectName {
	next := q.next()
	for lane := range q.lanes {
		if q.lanes[lane].Len() == 0 || Priority(lane) == next {
			q.skipped[lane] = 0
		} else {
			q.skipped[lane]++
		}
	}
	key := q.lanes[next].Pop()
	q.lanes[next].Finish(key, turn)
	delete(q.waiting, key)
	return key
}

// next returns the lane to take from: one that was skipped too often, or else the lane with the
// highest priority.
func (q *priorityQueue) next() Priority {
	highest := Background
	for lane := range q.lanes {
		if q.lanes[lane].Len() == 0 {
			continue
		}
		if q.skipped[lane] >= maxSkipped {
			return Priority(lane)
		}
		highest = Priority(lane)
	}
	return highest
}
