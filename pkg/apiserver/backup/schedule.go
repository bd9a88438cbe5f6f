package backup

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// closedInterval is the interval at which a closed store is checked.
	closedInterval = 10 * time.Second
	// retryInterval bounds the time until a failed snapshot is tried again.
	retryInterval = 5 * time.Minute
)

// Schedule takes snapshots at an interval. Restarts of the server do not affect the
// times: the last snapshot in the directory counts.
type Schedule struct {
	Snapshotter
	// Directory holds the snapshots. It is created, with mode 0700.
	Directory string
	// Interval is the interval of snapshots.
	Interval time.Duration
	// Keep is the number of kept snapshots of the store.
	Keep int
	// Closed reports whether the store may be another one, which must not be saved.
	Closed func() bool
	// Failed is called when no snapshot could be taken, and when earlier ones could not be removed.
	Failed func(error)
}

// Run takes snapshots until ctx ends.
func (s *Schedule) Run(ctx context.Context, clock clock.Clock) {
	logger := klog.FromContext(ctx)
	last, err := s.last(clock.Now())
	if err != nil {
		logger.Error(err, "Failed to read the directory of snapshots, taking one at once", "directory", s.Directory)
	}
	if !last.IsZero() {
		lastSuccess.Set(float64(last.Unix()))
	}
	for next := last.Add(s.Interval); ; {
		wait := next.Sub(clock.Now())
		if wait <= 0 && s.Closed() {
			wait = closedInterval
		}
		if wait > 0 {
			select {
			case <-ctx.Done():
				return
			case <-clock.After(wait):
				continue
			}
		}
		started := clock.Now()
		snapshot, err := s.take(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			recordFailure()
			s.Failed(err)
			next = clock.Now().Add(min(s.Interval, retryInterval))
			logger.Error(err, "Failed to take a snapshot of the store, retrying", "directory", s.Directory, "next", next)
		default:
			recordSuccess(started, snapshot.Bytes)
			next = started.Add(s.Interval)
			logger.Info("Took a snapshot of the store", "file", snapshot.Path, "bytes", snapshot.Bytes, "websites",
				snapshot.Websites, "revision", snapshot.Revision, "duration", clock.Since(started), "next", next)
		}
	}
}

// last returns the time of the last snapshot, zero without one.
func (s *Schedule) last(now time.Time) (time.Time, error) {
	if err := os.MkdirAll(s.Directory, 0o700); err != nil {
		return time.Time{}, fmt.Errorf("creating the directory of snapshots: %w", err)
	}
	found, err := listUntil(s.Directory, now)
	if err != nil || len(found) == 0 {
		return time.Time{}, err
	}
	return found[0].taken, nil
}

// take takes a snapshot, and removes earlier ones. It does not fail if they cannot be removed: another snapshot,
// taken sooner, would have to remove one more.
func (s *Schedule) take(ctx context.Context) (Snapshot, error) {
	if err := os.MkdirAll(s.Directory, 0o700); err != nil {
		return Snapshot{}, fmt.Errorf("creating the directory of snapshots: %w", err)
	}
	snapshot, removed, err := s.SaveAndPrune(ctx, s.Directory, s.Keep)
	if len(removed) > 0 {
		klog.FromContext(ctx).V(2).Info("Removed earlier snapshots", "files", removed)
	}
	if err != nil && snapshot.Path != "" {
		klog.FromContext(ctx).Error(err, "Failed to remove earlier snapshots", "directory", s.Directory)
		s.Failed(err)
		err = nil
	}
	return snapshot, err
}
