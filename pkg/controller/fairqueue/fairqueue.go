// Package fairqueue shares the workers of a work queue between namespaces.
package fairqueue

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/third_party/forked/golang/btree"
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
	// next has the lanes with a key that may be taken now, in the order of isBefore.
	next *btree.BTree[*lane[K]]
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
	waiting  []arrival[K]
	inFlight int
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
	const degree = 16
	return &Queue[K]{share: share, namespaceOf: namespaceOf, lanes: map[string]*lane[K]{},
		next: btree.New(degree, (*lane[K]).isBefore)}
}

// Touch does nothing: a waiting key keeps its position.
func (q *Queue[K]) Touch(K) {}

// Push adds a key.
func (q *Queue[K]) Push(key K) {
	q.change(key, func(l *lane[K]) {
		q.arrivals++
		l.waiting = append(l.waiting, arrival[K]{key, q.arrivals})
	})
}

// Remove removes a waiting key.
func (q *Queue[K]) Remove(key K) {
	q.change(key, func(l *lane[K]) {
		l.waiting = slices.DeleteFunc(l.waiting, func(waiting arrival[K]) bool { return waiting.key == key })
	})
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
	next, _ := q.next.Min()
	q.served = max(q.served, next.used)
	key := next.waiting[0].key
	q.changeLocked(key, func(l *lane[K]) {
		l.waiting = l.waiting[1:]
		l.inFlight++
	})
	return key
}

// Finish returns the share of a key that Pop handed out, and adds the worker time that it took.
func (q *Queue[K]) Finish(key K, took time.Duration) {
	q.change(key, func(l *lane[K]) {
		l.inFlight--
		l.used += took
	})
}

// change is changeLocked with the lock.
func (q *Queue[K]) change(key K, change func(*lane[K])) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changeLocked(key, change)
}

// changeLocked changes the lane of a key, and its position. A lane without keys is forgotten. The caller
// holds the lock.
func (q *Queue[K]) changeLocked(key K, change func(*lane[K])) {
	namespace := q.namespaceOf(key)
	l := q.lanes[namespace]
	if l == nil {
		l = &lane[K]{used: q.served}
		q.lanes[namespace] = l
	}
	if permitted := l.permitted(q.share); permitted > 0 {
		q.permitted -= permitted
		q.next.Delete(l)
	}
	change(l)
	if permitted := l.permitted(q.share); permitted > 0 {
		q.permitted += permitted
		q.next.ReplaceOrInsert(l)
	}
	if l.inFlight == 0 && len(l.waiting) == 0 {
		delete(q.lanes, namespace)
	}
}

// permitted returns the number of keys of a namespace that may be taken now.
func (l *lane[K]) permitted(share int) int { return min(len(l.waiting), share-l.inFlight) }

// isBefore reports whether l is served before another lane. Both have waiting keys.
func (l *lane[K]) isBefore(other *lane[K]) bool {
	return cmp.Or(
		cmp.Compare(l.inFlight, other.inFlight),
		cmp.Compare(l.used, other.used),
		cmp.Compare(l.waiting[0].number, other.waiting[0].number),
	) < 0
}
