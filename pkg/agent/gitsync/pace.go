package gitsync

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

const (
	// spread is by how much the polling interval of a pod differs from that of the Website at
	// most, in both directions: pods that started together do not poll together for ever.
	spread = 0.1
	// maxPause is how long a host that refuses requests is not polled at most.
	maxPause = 15 * time.Minute
	// never is longer than any pod runs.
	never = 100 * 365 * 24 * time.Hour
)

// throttled is what git prints when a host answers that there are too many requests, or that
// it is unavailable for now. git does not print for how long.
var throttled = regexp.MustCompile(`requested url returned error: (?:429|503)`)

// polls reports whether git-sync fetches without being requested to, once it has published something.
func (s *Supervisor) polls() bool { return s.Period > 0 }

// Spread changes the polling interval by a random amount. It is to be called before Run, with
// a number from 0 to 1.
func (s *Supervisor) Spread(random float64) {
	if !s.polls() {
		return
	}
	factor := 1 - spread + 2*spread*random
	s.Period = time.Duration(float64(s.Period) * factor).Round(time.Millisecond)
	s.Command = slices.Clone(s.Command)
	for i, argument := range s.Command {
		if strings.HasPrefix(argument, "--period=") {
			s.Command[i] = fmt.Sprintf("--period=%s", s.Period)
		}
	}
}

// checkPace stops git-sync for some time, which polls at a fixed interval, after its host has
// refused a request because there are too many, or after a commit had too many files, which takes a node much time.
// The time doubles with each of these in a row. A sync that is requested meanwhile is not delayed. The caller holds the lock.
func (s *Supervisor) checkPace(logger klog.Logger, busy bool, now time.Time) {
	if s.command == nil {
		return
	}
	if !s.pausedUntil.IsZero() {
		if !now.Before(s.pausedUntil) {
			s.resume(now)
		}
		return
	}
	_, text, at, err := readErrorFile(s.ErrorFile)
	if err != nil {
		// There is none after a sync that has succeeded.
		s.refusals = 0
		return
	}
	if busy || !at.After(s.refusedAt) {
		return
	}
	s.refusedAt = at
	_, stderr := parts(text)
	isOverfull := s.isOverfull(at)
	if !isOverfull && !throttled.MatchString(strings.ToLower(stderr)) {
		s.refusals = 0
		return
	}
	s.refusals = min(s.refusals+1, 10)
	pause := s.pause()
	if err := syscall.Kill(s.command.Process.Pid, syscall.SIGSTOP); err != nil {
		logger.Error(err, "Failed to stop git-sync for some time")
		return
	}
	// Not after the time of the file: the clock may go back meanwhile.
	s.pausedUntil = now.Add(pause)
	if isOverfull {
		logger.Info("The last commit of the repository has too many files, polling it later", "pause", pause)
		return
	}
	logger.Info("The host of the repository refuses requests, polling it later", "pause", pause)
}

// pause returns how long a host that has refused requests is not polled. Before the first commit git-sync tries more often
// than once in a period, which can be a day: the site is down. Without polling it only tries until it has succeeded once.
func (s *Supervisor) pause() time.Duration {
	period, longest := s.Period, max(maxPause, s.Period)
	initial, err := time.ParseDuration(s.argument("--init-period"))
	switch {
	case err != nil:
	case !s.polls():
		period = initial
	case s.published() == "":
		period, longest = min(initial, period), maxPause
	}
	return min(period<<s.refusals, longest)
}

// resume has git-sync go on that was stopped. The caller holds the lock.
func (s *Supervisor) resume(now time.Time) {
	if s.pausedUntil.IsZero() {
		return
	}
	s.pausedUntil, s.lastSign = time.Time{}, now
	if s.command != nil {
		_ = syscall.Kill(s.command.Process.Pid, syscall.SIGCONT)
	}
}

// Paused reports whether the host of the repository has refused requests, so that it is not
// to be contacted for some time.
func (s *Supervisor) Paused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.pausedUntil.IsZero()
}
