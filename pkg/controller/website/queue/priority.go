package queue

import (
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kubesites/website-apiserver/pkg/controller/fairqueue"
)

// Priority is how soon a Website is reconciled.
type Priority int

const (
	// Background is for what is only reconciled once more: the initial list, probes,
	// retries, events that change neither a spec nor what is available.
	Background Priority = iota
	// Changed is for new and changed Websites and for edited children.
	Changed
	// Available is for Deployments that became or are no longer available. It comes
	// first, because otherwise a flood of new Websites delays Ready of those that are
	// served already. It takes little, and cannot be caused faster than Websites of
	// the other priorities are reconciled.
	Available

	priorities = iota
)

// ChangedIf returns Changed or, if what is to be reconciled has not changed, Background.
func ChangedIf(changed bool) Priority {
	if changed {
		return Changed
	}
	return Background
}

// maxSkipped is how many Websites of other priorities are taken while one waits,
// before it has its turn: a low priority is slow at busy times, but never starves.
const maxSkipped = 10

// turn is the cost of a Website in a lane: all namespaces get the same number of turns.
const turn = 1

// priorityQueue hands out Websites by priority. Within a priority namespaces take turns, and the
// Websites of a namespace keep the order in which they came: a namespace with thousands of changes delays
// the others by one Website each. It is the storage below a work queue, which calls it
// under its own lock; only priorities are marked from outside.
type priorityQueue struct {
	mu sync.Mutex
	// marked are the priorities of the next Add of Websites.
	marked map[cache.ObjectName]Priority

	// lanes hold the keys that wait, and skipped counts the keys that were taken from
	// other lanes while there were any.
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

// mark gives the next Add of a Website a priority, unless it has a higher one.
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

// Touch moves a Website that waits to the lane of a higher priority.
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

// Len returns how many Websites wait.
func (q *priorityQueue) Len() int { return len(q.waiting) }

// Pop returns the next Website. The work queue calls it only when there is one.
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

// next returns the lane to take from: the one that was skipped too often, or else
// that of the highest priority.
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
