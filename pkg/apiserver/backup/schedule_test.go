package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/apiserver/store"
)

// scheduled is a running Schedule of a store with the record of these tests.
type scheduled struct {
	schedule *Schedule
	clock    *testingclock.FakeClock
	closed   atomic.Bool
	failures atomic.Int64
}

func newScheduled(t *testing.T, directory string) *scheduled {
	t.Helper()
	dataDir := newDataDir(t)
	client, _ := startEtcd(t, dataDir)
	putRecord(t, client)
	// The names of snapshots contain the time of day, which the schedule compares with the clock.
	s := &scheduled{clock: testingclock.NewFakeClock(time.Now())}
	s.schedule = &Schedule{
		Snapshotter: Snapshotter{Transport: transport(t, dataDir), Prefix: prefix},
		Directory:   directory,
		Interval:    time.Hour,
		Keep:        2,
		Closed:      s.closed.Load,
		Failed:      func(error) { s.failures.Add(1) },
	}
	return s
}

// start runs the schedule until the test ends.
func (s *scheduled) start(t *testing.T) {
	t.Helper()
	var running sync.WaitGroup
	ctx := t.Context()
	running.Go(func() { s.schedule.Run(ctx, clock.Clock(s.clock)) })
	// The context of a test ends before its cleanup.
	t.Cleanup(running.Wait)
}

// idle waits until the schedule waits.
func (s *scheduled) idle(t *testing.T) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return s.clock.HasWaiters(), nil })
	if err != nil {
		t.Fatalf("waiting until the schedule waits: %v", err)
	}
}

func (s *scheduled) count(t *testing.T) int {
	t.Helper()
	found, err := list(s.schedule.Directory)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

func TestSchedule(t *testing.T) {
	s := newScheduled(t, filepath.Join(t.TempDir(), "snapshots"))
	s.closed.Store(true)
	s.start(t)
	s.idle(t)
	if got := s.count(t); got != 0 {
		t.Fatalf("%d snapshots were taken while the store was closed", got)
	}
	s.closed.Store(false)
	s.clock.Step(closedInterval)
	for want := 1; want <= 4; want++ {
		s.idle(t)
		// Two are kept.
		if got := s.count(t); got != min(want, 2) {
			t.Errorf("%d snapshots after %d intervals", got, want)
		}
		s.clock.Step(s.schedule.Interval - time.Second)
		s.idle(t)
		s.clock.Step(time.Second)
	}
	s.idle(t)
	if info, err := os.Stat(s.schedule.Directory); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v, want mode 0700", info, err)
	}
	if got := s.failures.Load(); got != 0 {
		t.Errorf("%d failures", got)
	}
}

// TestScheduleAfterARestart continues the former process's schedule.
func TestScheduleAfterARestart(t *testing.T) {
	s := newScheduled(t, t.TempDir())
	for _, taken := range []time.Duration{-40 * time.Minute, 365 * 24 * time.Hour} { // The clock was ahead for a while.
		path := filepath.Join(s.schedule.Directory, mustName(t, &store.Record{Identity: ours}, s.clock.Now().Add(taken)))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.start(t)
	s.idle(t)
	if got := s.count(t); got != 2 {
		t.Fatalf("%d snapshots, want none at once", got)
	}
	s.clock.Step(21 * time.Minute)
	s.idle(t)
	if got := s.count(t); got != 3 {
		t.Errorf("%d snapshots, want one an hour after the former process's", got)
	}
}

func TestScheduleRetries(t *testing.T) {
	s := newScheduled(t, t.TempDir())
	var full atomic.Bool
	full.Store(true)
	s.schedule.Space = func(string, int64) error {
		if full.Load() {
			return errors.New("the disk is full")
		}
		return nil
	}
	s.start(t)
	s.idle(t)
	if s.failures.Load() != 1 || s.count(t) != 0 {
		t.Errorf("%d failures and %d snapshots, want one and none", s.failures.Load(), s.count(t))
	}
	mustBeEmpty(t, s.schedule.Directory)
	full.Store(false)
	s.clock.Step(retryInterval)
	s.idle(t)
	if s.failures.Load() != 1 || s.count(t) != 1 {
		t.Errorf("%d failures and %d snapshots, want one and one", s.failures.Load(), s.count(t))
	}
}

// fileOf creates a file that counts as an earlier snapshot.
func (s *scheduled) fileOf(t *testing.T, identity string, earlier time.Duration) string {
	t.Helper()
	path := filepath.Join(s.schedule.Directory,
		mustName(t, &store.Record{Identity: identity}, s.clock.Now().Add(-earlier)))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestScheduleFreesSpace has more snapshots than must be kept, and no space for another one.
func TestScheduleFreesSpace(t *testing.T) {
	s := newScheduled(t, t.TempDir())
	s.schedule.Space = func(dir string, _ int64) error {
		if found, err := list(dir); err != nil || len(found) > 3 {
			return fmt.Errorf("the disk is full with %d snapshots, %w", len(found), err)
		}
		return nil
	}
	for hours := range 4 {
		s.fileOf(t, ours, time.Duration(hours+1)*time.Hour)
	}
	other := s.fileOf(t, "another", 100*time.Hour)
	s.start(t)
	s.idle(t)
	if s.failures.Load() != 0 || s.count(t) != 3 {
		t.Errorf("%d failures and %d snapshots, want none, two of the store and the other one", s.failures.Load(), s.count(t))
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("the snapshot of another store: %v", err)
	}
}

// TestScheduleCannotRemove keeps the interval: snapshots taken sooner would replace the snapshots
// of a day.
func TestScheduleCannotRemove(t *testing.T) {
	s := newScheduled(t, t.TempDir())
	keepFromRemoval(t, s.fileOf(t, ours, 5*time.Hour))
	for _, hours := range []time.Duration{3, 4, 6} {
		s.fileOf(t, ours, hours*time.Hour)
	}
	s.start(t)
	s.idle(t)
	// The last two remain, and the unremovable one.
	if s.failures.Load() != 1 || s.count(t) != 3 {
		t.Errorf("%d failures and %d snapshots, want one and three", s.failures.Load(), s.count(t))
	}
	s.clock.Step(retryInterval)
	s.idle(t)
	if s.failures.Load() != 1 || s.count(t) != 3 {
		t.Errorf("%d failures and %d snapshots before the interval has passed, want one and three",
			s.failures.Load(), s.count(t))
	}
}
