package gitsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Mark is what git-sync had done last when no fetch was running.
type Mark struct{ fetched, failed time.Time }

// Mark returns what git-sync has done so far. It reports false while a fetch is running,
// whose end says nothing of what is pushed now.
func (s *Supervisor) Mark() (Mark, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.command != nil {
		all, err := processes()
		if err != nil {
			return Mark{}, false, err
		}
		for _, p := range descendants(all, s.command.Process.Pid) {
			if !p.zombie && p.isFetch() {
				return Mark{}, false, nil
			}
		}
	}
	return Mark{fetched: s.LastContact(), failed: s.lastError()}, true, nil
}

// Since returns whether a sync has fetched something after a Mark, or that there is nothing
// new, and whether one has failed since then. git-sync removes an earlier error last.
func (s *Supervisor) Since(mark Mark) (fetched, failed bool) {
	contact, last := s.LastContact(), s.lastError()
	return last.IsZero() && !contact.IsZero() && !contact.Equal(mark.fetched), !last.IsZero() && !last.Equal(mark.failed)
}

// lastError is when git-sync has last failed, or zero if its last sync has succeeded.
func (s *Supervisor) lastError() time.Time {
	failed, err := ReadErrorFile(s.ErrorFile)
	if err != nil || failed.Reason == ReasonNone {
		return time.Time{}
	}
	return failed.At
}

// hasBegunToSync reports whether git-sync has begun a sync since it was started. The caller holds
// the lock.
func (s *Supervisor) hasBegunToSync() bool {
	for _, sign := range s.signs() {
		s.syncs = s.syncs || sign.ModTime().After(s.started)
	}
	return s.syncs
}

// signs are the files that are written when a sync begins or ends, as far as they exist.
func (s *Supervisor) signs() []os.FileInfo {
	var signs []os.FileInfo
	for _, name := range []string{filepath.Join(s.Root, ".git", "FETCH_HEAD"), s.ErrorFile} {
		if info, err := os.Stat(name); err == nil {
			signs = append(signs, info)
		}
	}
	return signs
}

// lastSigned is the sign that was written last, or nil.
func (s *Supervisor) lastSigned() (last os.FileInfo) {
	for _, sign := range s.signs() {
		if last == nil || sign.ModTime().After(last.ModTime()) {
			last = sign
		}
	}
	return last
}

// Asleep reports whether git-sync has published the commit that it is to publish, and never
// fetches again.
func (s *Supervisor) Asleep() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asleep()
}

// isFetch reports whether a process is a fetch of git, or works for one.
func (p process) isFetch() bool {
	if strings.HasPrefix(p.name, "git-remote") || strings.HasPrefix(p.name, "ssh") {
		return true
	}
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
	return err == nil && p.name == "git" && bytes.Contains(command, []byte("\x00fetch\x00"))
}

// CommitOf returns the commit of a hash that was fetched, which is another one for an
// annotated tag.
func (s *Supervisor) CommitOf(ctx context.Context, hash string) (commit string, err error) {
	err = s.Do(func() error {
		var output strings.Builder
		command := exec.CommandContext(ctx, "git", "-C", s.Root, "rev-parse", "--verify", "--quiet", hash+"^{commit}")
		command.Stdout = &output
		if err := command.Start(); err != nil {
			return err
		}
		s.LimitMemory(ctx, command)
		err := command.Wait()
		commit = strings.TrimSpace(output.String())
		return err
	})
	if err != nil {
		return "", fmt.Errorf("finding the commit of %s in %s: %w", hash, filepath.Base(s.Root), err)
	}
	return commit, nil
}

// Fetched is the hash that git has last fetched, and when. Both are zero while it fetches.
func (s *Supervisor) Fetched() (hash string, at time.Time) {
	at = s.LastContact()
	if at.IsZero() {
		return "", at
	}
	file, err := os.Open(filepath.Join(s.Root, ".git", "FETCH_HEAD"))
	if err != nil {
		return "", time.Time{}
	}
	defer func() { _ = file.Close() }()
	line := make([]byte, 65)
	n, err := io.ReadFull(file, line)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", time.Time{}
	}
	hash, _, _ = strings.Cut(string(line[:n]), "\t")
	return hash, at
}

// NextSync is the earliest time of the next contact to the repository that is not requested:
// in the past while there is one, far in the future without polling, and zero if there will
// be none, requested or not.
func (s *Supervisor) NextSync() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asleep() {
		return time.Time{}
	}
	if !s.pausedUntil.IsZero() {
		return s.pausedUntil
	}
	last := s.lastSigned()
	switch {
	case last == nil:
		return s.begun
	case s.rests():
		return last.ModTime().Add(never)
	case last.Size() == 0 || !s.polls():
		return last.ModTime()
	default:
		return last.ModTime().Add(s.Period)
	}
}

// LastSuccess is when git has last fetched something, or that there is nothing new, whatever it
// does since. It is zero before that.
func (s *Supervisor) LastSuccess() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteContact()
	return s.lastSuccess
}

// noteContact keeps the time of a fetch that has succeeded. The caller holds the lock.
func (s *Supervisor) noteContact() {
	if contact := s.LastContact(); !contact.IsZero() {
		s.lastSuccess = contact
	}
}

// LastContact is LastSuccess if nothing is being fetched, and the last fetch has not failed; otherwise
// it is zero. git empties the file when a fetch begins, and writes it at its end.
func (s *Supervisor) LastContact() time.Time {
	info, err := os.Stat(filepath.Join(s.Root, ".git", "FETCH_HEAD"))
	if err != nil || info.Size() == 0 {
		return time.Time{}
	}
	return info.ModTime()
}
