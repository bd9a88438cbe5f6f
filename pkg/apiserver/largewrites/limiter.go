// Package largewrites bounds the memory that writes of large Websites take.
//
// The watch cache keeps all versions of at least 75 seconds, however large they are,
// and a patch of a megabyte takes tens of megabytes while it is processed. Priority and
// fairness counts requests, not bytes, and exempts administrators. Therefore large
// writes have a budget of bytes, which namespaces share: a user may use several
// accounts, but not another namespace, and what website-controller writes because of a
// Website counts where the Website is.
package largewrites

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
	// decay is the time constant with which used budget becomes free, the time for
	// which the watch cache keeps events.
	decay = 75 * time.Second
	// negligibleBytes is what a namespace is no longer kept for.
	negligibleBytes = 1 << 10
)

// budget knows how much each namespace has written of late.
type budget struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// used is by namespace, as of updated; total is the sum.
	used    map[string]float64
	total   float64
	updated time.Time
}

func newBudget(clock clock.PassiveClock) *budget {
	return &budget{clock: clock, used: map[string]float64{}, updated: clock.Now()}
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
