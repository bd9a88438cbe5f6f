package podprobe

import (
	"context"
	"sync"
	"time"
)

// waitForNews waits as an agent does: until its state changes, the time is over, or the client has
// disconnected. changed is closed and replaced with each change. The caller holds the lock.
func waitForNews(ctx context.Context, lock sync.Locker, wait time.Duration, changed *chan struct{},
	isNews func() bool) {
	over := time.After(wait)
	for wait > 0 && ctx.Err() == nil && !isNews() {
		current := *changed
		lock.Unlock()
		select {
		case <-current:
		case <-ctx.Done():
		case <-over:
			wait = 0
		}
		lock.Lock()
	}
}
