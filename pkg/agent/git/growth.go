package git

import (
	"context"
	"sync"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/disk"
)

// measureInterval is the time between two measurements of a directory.
const measureInterval = 100 * time.Millisecond

// limitGrowth calls a function that writes to a directory, and ends its context once the new files take more than the
// room. They have one name only, unlike those that a release has as well.
func limitGrowth(ctx context.Context, room int64, dir string, write func(context.Context) error) error {
	before, err := disk.UsageOf(dir)
	if err != nil {
		return onDisk(err)
	}
	check := func() error {
		used, err := disk.UsageOf(dir)
		if err == nil && used.Unshared-before.Unshared > room {
			return failure(ReasonTooLarge, "")
		}
		return onDisk(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var measuring sync.WaitGroup
	measuring.Go(func() {
		ticker := time.NewTicker(measureInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := check(); err != nil {
				cancel(err)
			}
		}
	})
	err = write(ctx)
	cancel(nil)
	measuring.Wait()
	if err != nil {
		return err
	}
	return check()
}
