package podprobe

import (
	"cmp"
	"container/list"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// key is a pod to probe, with its namespace, which is what workers are shared by.
type key struct {
	namespace string
	uid       types.UID
}

// fairQueue hands out pods by namespace: first those of the namespace with the fewest
// probes in flight, and of several that of the one whose pods have taken the least time of
// workers. A namespace never has more than its share of probes in flight, so the pods of
// one that do not answer leave workers to the others. Within a namespace the order is that
// in which pods came.
//
// It is the storage below a work queue, which calls it under its own lock; only finish is
// called from outside. Whoever calls that takes the next pod itself, so no worker has to
// be woken for a share that is free again.
type fairQueue struct {
	mu    sync.Mutex
	share int
	// lanes are those of namespaces with pods that wait or probes in flight.
	lanes map[string]*lane
	// permitted is how many pods of all lanes may be probed now.
	permitted int
	// arrivals numbers the pods.
	arrivals uint64
	// served is what the namespace of the last pod had used. One that comes later starts
	// there: that it was idle is no credit.
	served time.Duration
}

// lane is a namespace.
type lane struct {
	waiting  list.List // of arrival
	inFlight int
	// used is the time of workers that its pods have taken.
	used time.Duration
}

type arrival struct {
	key    key
	number uint64
}

var _ workqueue.Queue[key] = &fairQueue{}

func newFairQueue(share int) *fairQueue { return &fairQueue{share: share, lanes: map[string]*lane{}} }

// Touch does nothing: a pod that waits keeps its place.
func (q *fairQueue) Touch(key) {}

// Push adds a pod.
func (q *fairQueue) Push(k key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[k.namespace]
	if l == nil {
		l = &lane{used: q.served}
		q.lanes[k.namespace] = l
	}
	q.arrivals++
	q.change(l, func() { l.waiting.PushBack(arrival{k, q.arrivals}) })
}

// Len returns how many pods may be probed now.
func (q *fairQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.permitted
}

// Pop returns the next pod. The work queue calls it only when Len is not 0.
func (q *fairQueue) Pop() key {
	q.mu.Lock()
	defer q.mu.Unlock()
	var next *lane
	for _, l := range q.lanes {
		if l.permitted(q.share) > 0 && (next == nil || l.isBefore(next)) {
			next = l
		}
	}
	q.served = max(q.served, next.used)
	var first arrival
	q.change(next, func() {
		first = next.waiting.Remove(next.waiting.Front()).(arrival)
		next.inFlight++
	})
	return first.key
}

// finish ends the probe of a pod that Pop returned, which took that long.
func (q *fairQueue) finish(k key, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[k.namespace]
	q.change(l, func() { l.inFlight-- })
	l.used += took
	if l.inFlight == 0 && l.waiting.Len() == 0 {
		delete(q.lanes, k.namespace)
	}
}

// change changes a lane and counts again what it permits.
func (q *fairQueue) change(l *lane, change func()) {
	q.permitted -= l.permitted(q.share)
	change()
	q.permitted += l.permitted(q.share)
}

// permitted returns how many pods of a namespace may be probed now.
func (l *lane) permitted(share int) int { return min(l.waiting.Len(), share-l.inFlight) }

// isBefore compares two lanes with pods that wait.
func (l *lane) isBefore(other *lane) bool {
	return cmp.Or(
		cmp.Compare(l.inFlight, other.inFlight),
		cmp.Compare(l.used, other.used),
		cmp.Compare(l.first(), other.first()),
	) < 0
}

// first returns the number of the pod that has waited longest.
func (l *lane) first() uint64 { return l.waiting.Front().Value.(arrival).number }
