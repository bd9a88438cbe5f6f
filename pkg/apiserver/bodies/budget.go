package bodies

import (
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// minBytes is the size from which a write is large. Ordinary Websites have less.
	minBytes = 8 << 10
	// budgetBytes is shared by the large writes of all namespaces.
	budgetBytes = 64 << 20
	// processedBytes of all large writes are processed at once, half of them of one namespace. In the process they
	// take fifty times as much.
	processedBytes = 2 * largestWebsite
	// decay is the time constant with which used budget becomes free, the time for
	// which the watch cache keeps events.
	decay = 75 * time.Second
	// negligibleBytes is the use below which a namespace is forgotten.
	negligibleBytes = 1 << 10
)

// budget knows how much each namespace has written of late, and how much of that is processed.
type budget struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// used is by namespace, as of updated; total is the sum.
	used    map[string]float64
	total   float64
	updated time.Time
	// processed is by namespace as well, and processing is the sum.
	processed  map[string]int64
	processing int64
}

func newBudget(clock clock.PassiveClock) *budget {
	return &budget{clock: clock, used: map[string]float64{}, updated: clock.Now(), processed: map[string]int64{}}
}

// take uses bytes of the budget for a namespace, or returns how long it takes until
// it can. A namespace may use as much as is then left for all others together: a
// single one gets half of the budget, and one that has written nothing finds space.
func (b *budget) take(namespace string, bytes int64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.decay()
	used, size := b.used[namespace], float64(bytes)
	if used+size <= budgetBytes-b.total-size {
		b.used[namespace] += size
		b.total += size
		return 0
	}
	// Both used and total shrink by the same factor.
	factor := (budgetBytes - 2*size) / (used + b.total)
	if factor <= 0 {
		return decay
	}
	return min(decay, time.Duration(-math.Log(factor)*float64(decay)))
}

// begin has bytes of a namespace processed, or returns false while too many are.
func (b *budget) begin(namespace string, bytes int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.processed[namespace]+bytes > processedBytes/2 || b.processing+bytes > processedBytes {
		return false
	}
	b.processed[namespace] += bytes
	b.processing += bytes
	return true
}

// end ends what begin began.
func (b *budget) end(namespace string, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.processing -= bytes
	if b.processed[namespace] -= bytes; b.processed[namespace] == 0 {
		delete(b.processed, namespace)
	}
}

func (b *budget) decay() {
	now := b.clock.Now()
	factor := math.Exp(-now.Sub(b.updated).Seconds() / decay.Seconds())
	b.updated, b.total = now, 0
	for namespace, used := range b.used {
		used *= factor
		if used < negligibleBytes {
			delete(b.used, namespace)
			continue
		}
		b.used[namespace] = used
		b.total += used
	}
}
