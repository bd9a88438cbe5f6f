package gitsync

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

// newSupervisor returns one whose repository exists, at a period of a minute.
func newSupervisor(t *testing.T, command ...string) *Supervisor {
	t.Helper()
	dir := t.TempDir()
	s := &Supervisor{Command: command, Root: filepath.Join(dir, "root"), ErrorFile: filepath.Join(dir, "error"), Period: time.Minute, Clock: clock.RealClock{}}
	if err := os.MkdirAll(filepath.Join(s.Root, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// writeAt writes a file as if at a time.
func writeAt(t *testing.T, path, content string, at time.Time) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chtimes(path, at, at)); err != nil {
		t.Fatal(err)
	}
}

func (s *Supervisor) fetchHead() string { return filepath.Join(s.Root, ".git", "FETCH_HEAD") }

// TestNextSync: git empties FETCH_HEAD when a fetch begins, and leaves it empty when that fails.
func TestNextSync(t *testing.T) {
	begin := time.Unix(1e9, 0)
	s := newSupervisor(t)
	for _, step := range []struct {
		what, path, content string
		at, want            time.Duration
	}{
		{"a fetch has begun", s.fetchHead(), "", 0, 0},
		{"it has failed", s.ErrorFile, "error", time.Second, time.Second + time.Minute},
		{"the next has begun", s.fetchHead(), "", time.Minute, time.Minute},
		{"it has succeeded", s.fetchHead(), "commit", 2 * time.Minute, 3 * time.Minute},
	} {
		writeAt(t, step.path, step.content, begin.Add(step.at))
		if got := s.NextSync(); !got.Equal(begin.Add(step.want)) {
			t.Errorf("%s: the next sync is after %v, want after %v", step.what, got.Sub(begin), step.want)
		}
	}
}

// TestNeverPolls: what git-sync is requested to do is overdue as a poll would be, and nothing else is.
func TestNeverPolls(t *testing.T) {
	begin := time.Unix(1e9, 0)
	fake := testingclock.NewFakeClock(begin)
	s := newSupervisor(t, "/git-sync", "--link=current", "--init-period=5s")
	s.Clock, s.Period, s.Timeout, s.begun, s.started = fake, 0, time.Minute, begin, begin
	publish := func() {
		if err := os.Symlink(filepath.Join(worktrees, "0123"), filepath.Join(s.Root, "current")); err != nil {
			t.Fatal(err)
		}
	}
	request := func() {
		s.start(t)
		s.started = begin
		s.syncs = true
		if now, err := s.SyncNow(); !now || err != nil {
			t.Fatalf("requested to sync: %t, %v", now, err)
		}
	}
	for _, step := range []struct {
		what          string
		do            func()
		path, content string
		// overdue is that a sync is awaited.
		overdue bool
	}{
		{what: "the first fetch has failed", path: s.ErrorFile, content: "error", overdue: true},
		{what: "it has fetched, and makes the worktree", path: s.fetchHead(), content: "commit", overdue: true},
		{what: "it has published", do: publish},
		{what: "it is requested to sync", do: request, overdue: true},
		{what: "it has failed", path: s.ErrorFile, content: "error"},
		{what: "it is requested to sync again", do: request, overdue: true},
		{what: "it fetches", path: s.fetchHead(), overdue: true},
		{what: "it has fetched", path: s.fetchHead(), content: "commit"},
	} {
		fake.Step(time.Second)
		if step.path != "" {
			writeAt(t, step.path, step.content, fake.Now())
		}
		if step.do != nil {
			step.do()
		}
		s.LastSuccess()
		if got := !s.NextSync().After(fake.Now()); got != step.overdue {
			t.Errorf("%s: a sync is due: %t, want %t", step.what, got, step.overdue)
		}
		fake.Step(s.Timeout + overdueGrace + time.Second)
		if got := !s.Overdue().IsZero(); got != step.overdue {
			t.Errorf("%s: overdue: %t, want %t", step.what, got, step.overdue)
		}
	}
}

// TestLastSuccess: fetches that begin or fail do not hide when one has succeeded.
func TestLastSuccess(t *testing.T) {
	s, at := newSupervisor(t), time.Unix(1e9, 0)
	if got := s.LastSuccess(); !got.IsZero() {
		t.Errorf("before a fetch: %v", got)
	}
	writeAt(t, s.fetchHead(), "commit", at)
	for _, content := range []string{"commit", ""} {
		writeAt(t, s.fetchHead(), content, at)
		if got := s.LastSuccess(); !got.Equal(at) {
			t.Errorf("with %q in FETCH_HEAD: %v, want %v", content, got, at)
		}
	}
}

// TestAsleep: git-sync makes the link to a worktree once that is complete.
func TestAsleep(t *testing.T) {
	const commit = "71ab15b505141d7c19e765c46d9504a48bab48fe"
	s := newSupervisor(t, "/git-sync", "--ref="+commit, "--link=current")
	if err := os.MkdirAll(filepath.Join(s.Root, ".worktrees", commit), 0o755); err != nil {
		t.Fatal(err)
	}
	if s.Asleep() {
		t.Error("it sleeps while it makes the worktree")
	}
	if err := os.Symlink(filepath.Join(".worktrees", commit), filepath.Join(s.Root, "current")); err != nil {
		t.Fatal(err)
	}
	if !s.Asleep() {
		t.Error("it does not sleep with its commit")
	}
	s.Command[1] = "--ref=main"
	if s.Asleep() {
		t.Error("it sleeps though it follows a branch")
	}
}

// TestSyncNowWhileStarting: git-sync would end by a signal before it has a handler for it.
func TestSyncNowWhileStarting(t *testing.T) {
	s := newSupervisor(t)
	if now, err := s.SyncNow(); now || err != nil {
		t.Errorf("without a process: %t, %v", now, err)
	}
	s.start(t)
	writeAt(t, s.fetchHead(), "of the one before", s.started.Add(-time.Second))
	if now, err := s.SyncNow(); !now || err != nil {
		t.Errorf("while it starts: %t, %v", now, err)
	}
	if s.hasBegunToSync() {
		t.Error("it has begun to sync before its first fetch")
	}
	writeAt(t, s.fetchHead(), "", s.started.Add(time.Second))
	if !s.hasBegunToSync() {
		t.Error("it has not begun to sync though it fetches")
	}
	if now, err := s.SyncNow(); !now || err != nil {
		t.Errorf("after it has begun to fetch: %t, %v", now, err)
	}
	var ended *exec.ExitError
	if err := s.command.Wait(); !errors.As(err, &ended) {
		t.Errorf("the process has ended: %v, want by the signal", err)
	}
}

// start starts a process in place of git-sync, which ends with the test.
func (s *Supervisor) start(t *testing.T) {
	t.Helper()
	// Under nohup the process would ignore this signal. One that is handled here has its default there.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	s.command, s.started = exec.CommandContext(t.Context(), "sleep", "600"), time.Now()
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
}

// TestPauseAfterTheClockWentBack: the file of the error then has a time in the future.
func TestPauseAfterTheClockWentBack(t *testing.T) {
	s, now := newSupervisor(t), time.Now()
	s.start(t)
	writeAt(t, s.ErrorFile, `{"Err": "fatal: the requested url returned error: 429"}`, now.Add(3*time.Hour))
	s.checkPace(klog.Background(), false, now)
	if want := now.Add(2 * s.Period); !s.pausedUntil.Equal(want) {
		t.Errorf("git-sync is stopped for %v, want %v", s.pausedUntil.Sub(now), want.Sub(now))
	}
}
