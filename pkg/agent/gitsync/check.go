package gitsync

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// Check ends what is over its time and removes what it left. It is to be called about every
// second.
func (s *Supervisor) Check(ctx context.Context) {
	logger := klog.FromContext(ctx)
	s.checkFiles(logger)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.noteContact()
	s.hasBegunToSync()
	s.checkFormat(logger)
	s.checkUsername(logger)
	if !s.own.TryLock() {
		s.checkProgress(logger, now)
		return
	}
	defer s.own.Unlock()
	all, err := processes()
	if err != nil {
		logger.Error(err, "Failed to list the processes")
		return
	}
	busy := s.checkProcesses(logger, all, now)
	s.checkPace(logger, busy, now)
	if s.command != nil && !busy {
		removed, err := removeOldLocks(s.Root, now)
		if err != nil {
			logger.Error(err, "Failed to remove the lock files of a killed git")
		}
		if len(removed) > 0 {
			logger.Info("Removed the lock files of a killed git", "files", removed)
		}
		s.removeIncomplete(logger, now)
	}
	s.checkProgress(logger, now)
}

// checkProcesses ends the processes that git left behind, and reports whether any git runs.
func (s *Supervisor) checkProcesses(logger klog.Logger, all []process, now time.Time) (busy bool) {
	seen := map[string]time.Time{}
	for _, p := range all {
		orphan := p.parent == os.Getpid() && !s.isChild(p)
		if orphan && p.zombie {
			_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
			continue
		}
		if orphan && p.isGit() {
			busy = true
			s.end(logger, p, now, seen, 0)
		}
	}
	if s.command != nil {
		for _, p := range descendants(all, s.command.Process.Pid) {
			if p.zombie || p.isCredentialCache() {
				continue
			}
			busy = true
			s.end(logger, p, now, seen, s.Timeout+overdueGrace)
		}
	}
	s.seen = seen
	for id := range s.terminated {
		if _, there := seen[id]; !there {
			delete(s.terminated, id)
		}
	}
	return busy
}

// end ends a process that was seen for longer than a limit: it asks it to, and then kills it.
func (s *Supervisor) end(logger klog.Logger, p process, now time.Time, seen map[string]time.Time, limit time.Duration) {
	first, known := s.seen[p.id()]
	if !known {
		first = now
	}
	seen[p.id()] = first
	asked, terminated := s.terminated[p.id()]
	switch {
	case now.Sub(first) < limit:
	case !terminated:
		logger.Info("Ending a process that git has left behind", "pid", p.pid, "name", p.name, "after", now.Sub(first))
		s.terminated[p.id()] = now
		s.ended++
		_ = syscall.Kill(p.pid, syscall.SIGTERM)
	case now.Sub(asked) >= endGrace:
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// checkProgress restarts a git-sync that has not begun or ended a sync for longer than one
// takes, such as one that is stopped.
func (s *Supervisor) checkProgress(logger klog.Logger, now time.Time) {
	if s.command == nil || s.rests() || !s.pausedUntil.IsZero() {
		return
	}
	if s.lastSign.After(now) {
		s.lastSign = now // The clock went back.
	}
	for _, sign := range s.signs() {
		if sign.ModTime().After(s.lastSign) {
			s.lastSign = sign.ModTime()
		}
	}
	if now.Sub(s.lastSign) < s.Period+s.Timeout+overdueGrace+stallGrace {
		return
	}
	logger.Info("Restarting git-sync, which has not synced for longer than that takes", "since", s.lastSign)
	s.stalls++
	s.lastSign = now
	signalGroup(s.command.Process.Pid, syscall.SIGKILL)
}

// Overdue is since when a sync should have ended that has not, or zero. It does not take
// git-sync to find that out, which may hang.
func (s *Supervisor) Overdue() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun.IsZero() || s.rests() || !s.pausedUntil.IsZero() {
		return time.Time{}
	}
	last := s.begun
	if s.requested.After(last) {
		last = s.requested
	}
	for _, sign := range s.signs() {
		if sign.Size() > 0 && sign.ModTime().After(last) {
			last = sign.ModTime()
		}
	}
	if due := last.Add(s.Period + s.Timeout + overdueGrace); s.Clock.Now().After(due) {
		return due
	}
	return time.Time{}
}

// asleep reports whether git-sync has published the commit that it is to publish: it then
// does nothing for ever. Its link says so; the worktree is there before it is complete.
func (s *Supervisor) asleep() bool {
	ref := s.argument("--ref")
	return ref != "" && s.published() == ref
}

// rests reports whether git-sync does nothing until it is requested to: it sleeps, or it does not poll, and its last
// sync has succeeded, or failed after one that has. The caller holds the lock.
func (s *Supervisor) rests() bool {
	if s.asleep() || s.polls() {
		return s.asleep()
	}
	last := s.lastSigned()
	return s.published() != "" && s.lastSuccess.After(s.started) && last != nil && last.Size() > 0 &&
		last.ModTime().After(s.requested)
}

// published is the commit of the worktree that git-sync has published, or empty before the first one.
func (s *Supervisor) published() string {
	target, err := os.Readlink(filepath.Join(s.Root, s.argument("--link")))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}
