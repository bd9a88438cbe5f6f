// Package fairqueue shares the workers of a work queue between namespaces.
package fairqueue

import (
	"cmp"
	"container/heap"
	"container/list"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Queue hands out keys by namespace: the namespace with the fewest keys in flight is first; of
// several such namespaces, the one whose keys have used the least worker time. A namespace never has
// more than its share of keys in flight, so slow keys of one namespace leave workers to the others.
// Within a namespace, keys are handed out in order of arrival.
//
// It is the storage below a work queue, which calls it under its own lock; only Finish is called from
// outside. The caller of Finish takes the next key itself, so no worker has to be woken for a share
// that is free again.
type Queue[K comparable] struct {
	share       int
	namespaceOf func(K) string

	mu sync.Mutex
	// lanes are the namespaces with keys that wait or are in flight.
	lanes map[string]*lane[K]
	// waiting maps each key to its element in the list of its lane.
	waiting map[K]*list.Element
	// next is a heap of the lanes with a key that may be taken now, in the order of isBefore.
	next lanes[K]
	// permitted is the number of keys in all lanes that may be taken now.
	permitted int
	// arrivals numbers the keys.
	arrivals uint64
	// served is the worker time that the namespace of the last key had used. A new lane starts there:
	// idle time earns no credit.
	served time.Duration
}

// lane holds the keys of a namespace.
type lane[K comparable] struct {
	waiting  list.List // of arrival[K]
	inFlight int
	// position is the index in next, or -1.
	position int
	// used is the worker time of its keys.
	used time.Duration
}

type arrival[K comparable] struct {
	key    K
	number uint64
}

var _ workqueue.Queue[string] = &Queue[string]{}

// New returns an empty queue, with at most share keys of each namespace in flight.
func New[K comparable](share int, namespaceOf func(K) string) *Queue[K] {
	return &Queue[K]{share: share, namespaceOf: namespaceOf, lanes: map[string]*lane[K]{}, waiting: map[K]*list.Element{}}
}

// Touch does nothing: a waiting key keeps its position.
func (q *Queue[K]) Touch(K) {}

// Push adds a key.
func (q *Queue[K]) Push(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	namespace := q.namespaceOf(key)
	l := q.lanes[namespace]
	if l == nil {
		l = &lane[K]{used: q.served, position: -1}
		q.lanes[namespace] = l
	}
	q.arrivals++
	q.change(l, func() { q.waiting[key] = l.waiting.PushBack(arrival[K]{key, q.arrivals}) })
}

// Remove removes a waiting key.
func (q *Queue[K]) Remove(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	namespace := q.namespaceOf(key)
	l := q.lanes[namespace]
	q.change(l, func() { l.waiting.Remove(q.waiting[key]) })
	delete(q.waiting, key)
	q.forgetIdle(namespace)
}

// Len returns the number of keys that may be taken now.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.permitted
}

// Pop returns the next key. The work queue calls it only when Len is not 0.
func (q *Queue[K]) Pop() K {
	q.mu.Lock()
	defer q.mu.Unlock()
	next := q.next[0]
	q.served = max(q.served, next.used)
	var first arrival[K]
	q.change(next, func() {
		first = next.waiting.Remove(next.waiting.Front()).(arrival[K])
		next.inFlight++
	})
	delete(q.waiting, first.key)
	return first.key
}

// Finish returns the share of a key that Pop handed out, and adds the worker time that it took.
func (q *Queue[K]) Finish(key K, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	namespace := q.namespaceOf(key)
	l := q.lanes[namespace]
	q.change(l, func() {
		l.inFlight--
		l.used += took
	})
	q.forgetIdle(namespace)
}

// forgetIdle deletes the lane of a namespace without keys.
func (q *Queue[K]) forgetIdle(namespace string) {
	if l := q.lanes[namespace]; l.inFlight == 0 && l.waiting.Len() == 0 {
		delete(q.lanes, namespace)
	}
}

// change changes a lane, updates the number of permitted keys and restores the heap order.
func (q *Queue[K]) change(l *lane[K], change func()) {
	q.permitted -= l.permitted(q.share)
	change()
	permitted := l.permitted(q.share)
	q.permitted += permitted
	switch {
	case permitted > 0 && l.position < 0:
		heap.Push(&q.next, l)
	case permitted > 0:
		heap.Fix(&q.next, l.position)
	case l.position >= 0:
		heap.Remove(&q.next, l.position)
	}
}

// permitted returns the number of keys of a namespace that may be taken now.
func (l *lane[K]) permitted(share int) int { return min(l.waiting.Len(), share-l.inFlight) }

// isBefore reports whether l is served before another lane. Both have waiting keys.
func (l *lane[K]) isBefore(other *lane[K]) bool {
	return cmp.Or(
		cmp.Compare(l.inFlight, other.inFlight),
		cmp.Compare(l.used, other.used),
		cmp.Compare(l.first(), other.first()),
	) < 0
}

// first returns the arrival number of the key that has waited longest.
func (l *lane[K]) first() uint64 { return l.waiting.Front().Value.(arrival[K]).number }

// lanes is a heap.
type lanes[K comparable] []*lane[K]

var _ heap.Interface = &lanes[string]{}

// Len returns the number of lanes.
func (l lanes[K]) Len() int { return len(l) }

// Less compares two lanes.
func (l lanes[K]) Less(i, j int) bool { return l[i].isBefore(l[j]) }

// Swap swaps two lanes.
func (l lanes[K]) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].position, l[j].position = i, j
}

// Push adds a lane at the end.
func (l *lanes[K]) Push(added any) {
	last := added.(*lane[K])
	last.position = len(*l)
	*l = append(*l, last)
}

// Pop removes the lane at the end.
func (l *lanes[K]) Pop() any {
	end := len(*l) - 1
	last := (*l)[end]
	last.position = -1
	(*l)[end] = nil
	*l = (*l)[:end]
	return last
}
