package gitsync

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"
)

// errTooManyFiles is why a git was ended that filled a worktree.
var errTooManyFiles = errors.New("the worktree of the commit has too many files")

// overfull is what is known of the last worktree with too many files that git-sync had a git fill.
type overfull struct {
	// ended is when that git was ended, until git-sync says that it has failed. before is when it had failed
	// last then.
	ended, before time.Time
	// failed is when git-sync has failed because of that.
	failed time.Time
}

// failsWithin is how soon git-sync says that it has failed, after its git was ended. What fails later has another reason.
const failsWithin = time.Minute

// checkFiles ends each git that fills a worktree with more files than one may have: the size of a volume does not
// limit its inodes, which belong to the node. It does not wait for commands of this process. Files are counted
// without the lock.
func (s *Supervisor) checkFiles(logger klog.Logger) {
	if s.MaxFiles <= 0 {
		return
	}
	all, err := processes()
	if err != nil {
		logger.Error(err, "Failed to list the processes")
		return
	}
	s.mu.Lock()
	child, beside := 0, slices.Collect(maps.Keys(s.beside))
	if s.command != nil {
		child = s.command.Process.Pid
	}
	s.mu.Unlock()
	// Processes end with the lock held: nothing that follows from their end is handled before its cause is recorded.
	if child != 0 {
		s.endChild(logger, s.overfilling(logger, descendants(all, child)))
	}
	for _, pid := range beside {
		found := s.overfilling(logger, descendants(all, pid))
		s.mu.Lock()
		if s.beside[pid] && end(logger, found) {
			s.overfilled[pid] = true
		}
		s.mu.Unlock()
	}
}

// endChild ends gits of the child that fill a worktree.
func (s *Supervisor) endChild(logger klog.Logger, found []process) {
	if len(found) == 0 {
		return
	}
	_, _, before, _ := readErrorFile(s.ErrorFile)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.Clock.Now(); end(logger, found) && now.Sub(s.overfull.ended) > failsWithin {
		s.overfull.ended, s.overfull.before = now, before
	}
}

// overfilling returns those of some processes that fill a worktree with too many files.
func (s *Supervisor) overfilling(logger klog.Logger, all []process) (found []process) {
	published := s.published()
	for _, p := range all {
		worktree := ""
		if !p.zombie && p.isGit() {
			worktree = p.worktree()
		}
		// git-sync has git check the published one, and removes it if that fails.
		if worktree == "" || filepath.Base(worktree) == published {
			continue
		}
		count, err := countFiles(worktree, s.MaxFiles)
		if err != nil {
			logger.Error(err, "Failed to count the files of a worktree")
		}
		if count > s.MaxFiles {
			logger.Info("A git fills a worktree with too many files", "pid", p.pid, "worktree", worktree, "limit", s.MaxFiles)
			found = append(found, p)
		}
	}
	return found
}

// end asks processes that still run to end, and reports whether there are any.
func end(logger klog.Logger, all []process) (ended bool) {
	for _, p := range all {
		if p.stillRuns() && syscall.Kill(p.pid, syscall.SIGTERM) == nil {
			logger.Info("Ending a git", "pid", p.pid)
			ended = true
		}
	}
	return ended
}

// stillRuns reports whether a process that was listed some time ago has not ended since.
func (p process) stillRuns() bool {
	all, err := processes()
	return err == nil && slices.ContainsFunc(all, func(other process) bool { return other.id() == p.id() && !other.zombie })
}

// worktree returns the worktree of git-sync in which a process runs, or "".
func (p process) worktree() string {
	dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.pid))
	if err != nil {
		return "" // It has ended.
	}
	root, path, found := strings.Cut(dir, "/"+worktrees+"/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(path, "/")
	return filepath.Join(root, worktrees, name)
}

// countFiles counts the files and directories below a directory that is being filled, and not many more than a limit. It
// holds a few names of each directory in memory only.
func countFiles(dir string, limit int64) (count int64, err error) {
	file, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("counting files: %w", err)
	}
	defer func() { _ = file.Close() }()
	for count <= limit {
		entries, err := file.ReadDir(256)
		count += int64(len(entries))
		for _, entry := range entries {
			if !entry.IsDir() || count > limit {
				continue
			}
			below, err := countFiles(filepath.Join(dir, entry.Name()), limit-count)
			if count += below; err != nil {
				return count, err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrNotExist) {
			return count, nil
		}
		if err != nil {
			return count, fmt.Errorf("counting files: %w", err)
		}
	}
	return count, nil
}

// LastError returns why the last sync failed, with ReasonNone if it did not.
func (s *Supervisor) LastError() (SyncError, error) {
	failed, err := ReadErrorFile(s.ErrorFile)
	s.mu.Lock()
	defer s.mu.Unlock()
	if failed.Reason != ReasonNone && s.isOverfull(failed.At) {
		return tooManyFiles(failed.At), nil
	}
	return failed, err
}

// isOverfull reports whether git-sync has failed at a time because its git was ended that filled a worktree. The caller
// holds the lock.
func (s *Supervisor) isOverfull(failed time.Time) bool {
	if ended := s.overfull.ended; !ended.IsZero() && !failed.Equal(s.overfull.before) {
		s.overfull = overfull{}
		if failed.Sub(ended) < failsWithin {
			s.overfull.failed = failed
		}
	}
	return !failed.IsZero() && failed.Equal(s.overfull.failed)
}

func tooManyFiles(at time.Time) SyncError {
	return SyncError{Reason: ReasonStorageFull, Text: errTooManyFiles.Error(), At: at}
}
