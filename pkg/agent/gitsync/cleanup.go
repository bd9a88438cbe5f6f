package gitsync

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

// lockAge is how old a lock file without a git that could hold it must be to be removed.
const lockAge = 2 * time.Second

// worktrees is where git-sync has those of commits.
const worktrees = ".worktrees"

// temporaryLink is how git-sync makes its link; one that it has left behind keeps it from
// publishing ever again.
const temporaryLink = "tmp-link"

// removeLeftovers removes what a killed git-sync and a killed git leave behind in the root, and next to the error
// file, which git-sync writes by renaming another one. Neither git-sync nor git may be running in the root; one that
// fetches a commit beside it has other directories.
func removeLeftovers(root, errorFile string) error {
	err := os.Remove(filepath.Join(root, temporaryLink))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	temporary, globErr := filepath.Glob(filepath.Join(filepath.Dir(errorFile), "tmp-err-*"))
	errs := []error{err, globErr}
	for _, path := range temporary {
		errs = append(errs, os.Remove(path))
	}
	errs = append(errs, removeFiles(root, isLeftover))
	return errors.Join(errs...)
}

// removeFiles removes the files in .git that are left.
func removeFiles(root string, isLeft func(path string) bool) error {
	return filepath.WalkDir(filepath.Join(root, ".git"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && isLeft(path) {
			err = os.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// removeIncomplete removes what a sync that has failed left behind, once for each, when all of that is old enough: the
// packs of a fetch that is cut off at each try would fill the volume, and so would the worktrees of commits that cannot
// be published. No git may be running; one that begins now has files that are younger.
func (s *Supervisor) removeIncomplete(logger klog.Logger, now time.Time) {
	_, _, failed, err := readErrorFile(s.ErrorFile)
	// An error is reported by the one who reads why git-sync fails.
	if err != nil || !failed.After(s.cleanedAt) {
		return
	}
	before, anyYoung := now.Add(-lockAge), false
	if err := removeFiles(s.Root, func(path string) bool {
		if !isLeftover(path) {
			return false
		}
		info, err := os.Lstat(path)
		isOld := err == nil && info.ModTime().Before(before)
		anyYoung = anyYoung || err == nil && !isOld
		return isOld
	}); err != nil {
		logger.Error(err, "Failed to remove what a fetch that failed has left")
	}
	if err := s.removeUnpublished(failed); err != nil {
		logger.Error(err, "Failed to remove the worktree of a sync that failed")
	}
	if !anyYoung {
		s.cleanedAt = failed
	}
}

// removeUnpublished removes the worktrees from before a failure other than the published one, and then what git has
// noted of worktrees that are gone, which includes their submodules. git-sync does that after a sync that succeeds.
func (s *Supervisor) removeUnpublished(failed time.Time) error {
	published := s.published()
	err := removeDirectories(filepath.Join(s.Root, worktrees), failed, func(path string) bool {
		return filepath.Base(path) != published
	})
	return errors.Join(err, removeDirectories(filepath.Join(s.Root, ".git", "worktrees"), failed, func(path string) bool {
		link, err := os.ReadFile(filepath.Join(path, "gitdir"))
		if err != nil {
			return false
		}
		_, err = os.Lstat(strings.TrimSpace(string(link)))
		return errors.Is(err, fs.ErrNotExist)
	}))
}

// removeDirectories removes those in a directory that are from before a time and not needed.
func removeDirectories(parent string, before time.Time, isLeft func(path string) bool) error {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, entry := range entries {
		path := filepath.Join(parent, entry.Name())
		info, err := entry.Info()
		if err == nil && entry.IsDir() && info.ModTime().Before(before) && isLeft(path) {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

// isLeftover reports whether a file in .git is a lock or an incomplete pack.
func isLeftover(path string) bool {
	name := filepath.Base(path)
	return strings.HasSuffix(name, ".lock") || name == "gc.pid" ||
		strings.HasPrefix(name, "tmp_") && strings.Contains(path, "/objects/")
}

// removeOldLocks removes the lock files that would have git-sync wipe its root, or fail at
// every sync. It reads a few directories only, so that it can run every second. No git may
// be running.
func removeOldLocks(root string, now time.Time) (removed []string, err error) {
	var locks []string
	for _, pattern := range []string{".git/*.lock", ".git/worktrees/*/*.lock", ".git/refs/heads/*.lock"} {
		found, globErr := filepath.Glob(filepath.Join(root, pattern))
		locks, err = append(locks, found...), errors.Join(err, globErr)
	}
	for _, lock := range locks {
		info, statErr := os.Lstat(lock)
		if statErr != nil || now.Sub(info.ModTime()) < lockAge {
			continue
		}
		if removeErr := os.Remove(lock); removeErr != nil {
			err = errors.Join(err, removeErr)
			continue
		}
		removed = append(removed, lock)
	}
	return removed, err
}
