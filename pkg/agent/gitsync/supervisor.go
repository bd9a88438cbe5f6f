package gitsync

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// minBackoff and maxBackoff limit how long a git-sync that has died is not restarted.
	minBackoff, maxBackoff = time.Second, 30 * time.Second
	// steady is how long git-sync must have run for the back-off to start from the beginning.
	steady = time.Minute
	// endGrace is how long processes may take to end before they are killed: git removes
	// its lock files.
	endGrace = 2 * time.Second
	// overdueGrace is how long after the end of its time a git may run. git-sync kills it
	// at that end.
	overdueGrace = 5 * time.Second
	// stallGrace is how long a sync may be late before git-sync is restarted.
	stallGrace = 30 * time.Second
)

// Supervisor runs git-sync.
type Supervisor struct {
	// Command is git-sync and its arguments.
	Command []string
	// Root and ErrorFile are those of git-sync.
	Root, ErrorFile string
	// UsernameFile has the user name of git-sync, if it is to have one.
	UsernameFile string
	// Period is the polling interval; 0: the repository is only fetched at the start of git-sync, which tries until it
	// has published something, and at requests. Command has a --period that never ends then.
	Period time.Duration
	// Timeout is that of a sync.
	Timeout time.Duration
	// MemoryLimit is how much memory each process may have, in bytes; 0: what the container may. See
	// the function of that name.
	MemoryLimit uint64
	// MaxFiles is how many files and directories a worktree may have; 0: any number.
	MaxFiles int64
	// Clock is the clock of all intervals.
	Clock clock.WithTicker

	// own is held while this process itself runs a command, which is then no process that
	// git has left behind.
	own sync.Mutex

	mu sync.Mutex
	// command is the child, or nil, and beside the processes that run next to it.
	command *exec.Cmd
	beside  map[int]bool
	// overfull is about a worktree of the child. overfilled has those next to it whose worktree had too many files.
	overfull   overfull
	overfilled map[int]bool
	// seen is when each process was first seen, by its id.
	seen map[string]time.Time
	// terminated is when processes were asked to end.
	terminated map[string]time.Time
	// username is that of the child.
	username string
	// cleanedAt is when the fetch failed after which was removed what it left.
	cleanedAt time.Time
	// format is the object format of the remote if it is not git's default, formatAt when
	// that was found, and reformat is true until there is a repository for it.
	format   string
	formatAt time.Time
	reformat bool
	// lastSign is the last time at which a sync, or git-sync itself, is known to have
	// begun or ended.
	lastSign time.Time
	// pausedUntil is until when git-sync is stopped, or zero, refusals how often in a row its
	// host has refused requests, and refusedAt when the last error was found that may be that.
	pausedUntil time.Time
	refusals    int
	refusedAt   time.Time
	// begun is when git-sync was started for the first time, and started when for the last time.
	begun, started time.Time
	// requested is when git-sync, which does not poll and has done nothing since, was signalled to sync.
	requested time.Time
	// syncs is true once git-sync has begun a sync since it was started for the last time.
	syncs bool
	// lastSuccess is the time of the last fetch that has succeeded.
	lastSuccess             time.Time
	restarts, ended, stalls int
}

// Counts are what has happened since the start.
type Counts struct {
	// Running is false while git-sync waits for its restart.
	Running bool
	// Restarts is how often git-sync was started again.
	Restarts int
	// EndedProcesses is how many processes that git left behind were ended.
	EndedProcesses int
	// Stalls is how often git-sync was restarted because it did nothing.
	Stalls int
}

// Counts returns the current counts.
func (s *Supervisor) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Counts{Running: s.command != nil, Restarts: s.restarts, EndedProcesses: s.ended, Stalls: s.stalls}
}

// Run runs git-sync until ctx ends, and then ends it and all that it has started.
func (s *Supervisor) Run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	backoff := minBackoff
	for ctx.Err() == nil {
		if err := errors.Join(s.reformatRoot(), removeLeftovers(s.Root, s.ErrorFile)); err != nil {
			logger.Error(err, "Failed to remove what an earlier git-sync left")
		}
		begin := s.Clock.Now()
		err := s.runOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		if s.Clock.Since(begin) >= steady {
			backoff = minBackoff
		}
		logger.Info("git-sync has ended, restarting it", "err", err, "backoff", backoff)
		select {
		case <-ctx.Done():
		case <-s.Clock.After(backoff):
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// runOnce runs git-sync until it ends, and returns why.
func (s *Supervisor) runOnce(ctx context.Context) error {
	username, err := s.readUsername()
	if err != nil {
		return err
	}
	command := exec.Command(s.Command[0], s.Command[1:]...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if command.Env, err = s.environmentOf(s.Root); err != nil {
		return err
	}
	command.Env = append(command.Env, s.usernameVariables(username)...)
	// A process group of its own, so that no process escapes its end.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	s.mu.Lock()
	s.username = username
	if s.format == "" {
		s.format = formatOf(s.argument("--ref"))
	}
	if s.format != "" {
		command.Env = append(command.Env, formatVariable+"="+s.format)
	}
	if err := command.Start(); err != nil {
		s.mu.Unlock()
		return fmt.Errorf("starting git-sync: %w", err)
	}
	// It has not started any git yet.
	s.LimitMemory(ctx, command)
	if s.begun.IsZero() {
		s.begun = s.Clock.Now()
	} else {
		s.restarts++
	}
	now := s.Clock.Now()
	s.command, s.started, s.syncs, s.lastSign, s.pausedUntil = command, now, false, now, time.Time{}
	s.requested = time.Time{}
	s.seen, s.terminated = map[string]time.Time{}, map[string]time.Time{}
	s.mu.Unlock()

	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		signalGroup(command.Process.Pid, syscall.SIGTERM)
		// One that is stopped does not end.
		signalGroup(command.Process.Pid, syscall.SIGCONT)
		select {
		case err = <-ended:
		case <-s.Clock.After(endGrace):
			signalGroup(command.Process.Pid, syscall.SIGKILL)
			err = <-ended
		}
	}
	s.mu.Lock()
	s.command = nil
	s.mu.Unlock()
	s.endGroup(command.Process.Pid)
	return err
}

// endGroup ends what git-sync has left running, which would work in the root together with
// the next git-sync.
func (s *Supervisor) endGroup(group int) {
	signalGroup(group, syscall.SIGTERM)
	deadline := s.Clock.Now().Add(endGrace)
	for groupExists(group) {
		s.reap()
		if s.Clock.Now().After(deadline) {
			signalGroup(group, syscall.SIGKILL)
		}
		s.Clock.Sleep(20 * time.Millisecond)
	}
}

func signalGroup(group int, signal syscall.Signal) {
	if err := syscall.Kill(-group, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		klog.ErrorS(err, "Failed to signal git-sync", "signal", signal)
	}
}

func groupExists(group int) bool { return syscall.Kill(-group, 0) == nil }

// SyncNow has git-sync sync at once, and reports false while there is none. One that is starting is about
// to, and has no handler yet for the signal, which would end it.
func (s *Supervisor) SyncNow() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.command == nil {
		return false, nil
	}
	if !s.hasBegunToSync() {
		return true, nil
	}
	now := s.Clock.Now()
	s.resume(now)
	if !s.polls() && s.rests() {
		s.requested, s.lastSign = now, now
	}
	if err := syscall.Kill(s.command.Process.Pid, syscall.SIGHUP); err != nil {
		return false, fmt.Errorf("signalling git-sync: %w", err)
	}
	return true, nil
}

// Do runs a function that starts and awaits processes, which are not taken for those that
// git left behind.
func (s *Supervisor) Do(function func() error) error {
	s.own.Lock()
	defer s.own.Unlock()
	return function()
}

// reap takes note of the end of processes that have no other parent.
func (s *Supervisor) reap() {
	if !s.own.TryLock() {
		return
	}
	defer s.own.Unlock()
	all, err := processes()
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range all {
		// Whoever has started a child awaits it.
		if p.parent == os.Getpid() && p.zombie && !s.isChild(p) {
			_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
		}
	}
}

func (s *Supervisor) isChild(p process) bool {
	return s.command != nil && p.pid == s.command.Process.Pid || s.beside[p.pid]
}
