package storage

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// batchTimeout bounds the recording of a request, which does not end with the client
// that made it: others may have joined.
const batchTimeout = 30 * time.Second

const (
	// batchInterval is the least average interval of the batches of a Website, and batchBurst
	// the number of batches without a delay, since a push can follow another. Clients that flood
	// the server thereby delay each other, and not other clients.
	batchInterval = 500 * time.Millisecond
	batchBurst    = 2
	// maxPaces is the number of Websites whose last batches are remembered.
	maxPaces = 4096
)

// recorder records a request for a commit, or for the newest one.
type recorder func(ctx context.Context, commit string) (*website.Website, error)

// batches let requests for a Website share an access to the store if they arrive while
// another is being recorded. Each access begins after all requests that share it have
// arrived, so it does not read older data.
type batches struct {
	clock clock.Clock
	// paces has the rate.Limiter of the batches of each Website.
	paces *lru.Cache

	mu     sync.Mutex
	queues map[string]*queue
}

// queue is the queue of one Website.
type queue struct {
	// turn is held by the batch that is being recorded.
	turn chan struct{}
	// next is the batch that is not being recorded yet; nil without one.
	next *batch
}

type batch struct {
	commit string
	done   chan struct{}

	recorded *website.Website
	err      error
}

func newBatches(c clock.Clock) *batches {
	return &batches{clock: c, paces: lru.New(maxPaces), queues: map[string]*queue{}}
}

// record calls do for a batch with this request. The result is shared, and must not be
// changed.
func (b *batches) record(ctx context.Context, key, commit string, do recorder) (*website.Website, error) {
	b.mu.Lock()
	q := b.queues[key]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		b.queues[key] = q
	}
	if joined := q.next; joined != nil {
		if joined.commit != commit {
			joined.commit = ""
		}
		b.mu.Unlock()
		select {
		case <-joined.done:
			return joined.recorded, joined.err
		case <-ctx.Done():
			return nil, unrecordedError()
		}
	}
	own := &batch{commit: commit, done: make(chan struct{})}
	q.next = own
	b.mu.Unlock()

	q.turn <- struct{}{}
	defer b.finish(key, q, own)
	if wait := b.pace(key); wait > 0 {
		<-b.clock.After(wait)
	}
	b.mu.Lock()
	q.next = nil
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTimeout)
	defer cancel()
	own.recorded, own.err = do(ctx, own.commit)
	return own.recorded, own.err
}

// pace returns the delay of the next batch of a Website, during which requests join it. The
// caller holds the turn.
func (b *batches) pace(key string) time.Duration {
	cached, _ := b.paces.Get(key)
	limiter, ok := cached.(*rate.Limiter)
	if !ok {
		limiter = rate.NewLimiter(rate.Every(batchInterval), batchBurst)
		b.paces.Add(key, limiter)
	}
	now := b.clock.Now()
	return limiter.ReserveN(now, 1).DelayFrom(now)
}

func (b *batches) finish(key string, q *queue, done *batch) {
	close(done.done)
	b.mu.Lock()
	defer b.mu.Unlock()
	if q.next == nil {
		delete(b.queues, key)
	}
	<-q.turn
}
