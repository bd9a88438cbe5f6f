package framework

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// WaitTimeout bounds every wait that has no timeout of its own. Most waits take seconds;
// the rest is for small machines under load.
const WaitTimeout = 4 * time.Minute

// pollInterval is the time between the first two checks of a wait, and maxPollInterval between its
// last: many tests wait at once, and the requests of each check slow down all others.
const pollInterval, maxPollInterval = 100 * time.Millisecond, time.Second

// WaitFor waits until check returns nil. The text what completes "waiting until".
func WaitFor(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	WaitWithin(t, WaitTimeout, what, check)
}

// WaitWithin is WaitFor with a timeout.
func WaitWithin(t *testing.T, timeout time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	if err := Poll(t.Context(), pollInterval, timeout, check); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// Poll calls check until it returns nil, in intervals that become a tenth of the time that has
// passed. After the timeout, it returns the last error of check.
func Poll(ctx context.Context, interval, timeout time.Duration, check func(ctx context.Context) error) error {
	start := time.Now()
	last := errors.New("never checked")
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	next := wait.DelayFunc(func() time.Duration {
		return max(interval, min(time.Since(start)/10, maxPollInterval))
	})
	err := next.Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		// The error of an expired context would hide the one before.
		if err != nil && ctx.Err() != nil {
			return false, nil
		}
		last = err
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w (%w after %s)", last, err, time.Since(start).Round(time.Second))
	}
	return nil
}
