package website

import (
	"container/list"
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// urgentInARow is how many urgent Websites are taken while others wait, before
// one of those has its turn: what is periodic is slow at such times, but never
// stands still.
const urgentInARow = 10

// priorityQueue hands out Websites that people have changed before those that
// are only looked at again. It is the storage below a work queue, which calls
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
