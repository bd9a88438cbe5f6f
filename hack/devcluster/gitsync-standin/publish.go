package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

func (s *syncer) worktree(commit string) string { return filepath.Join(s.root, worktrees, commit) }

// linked is the commit that the link names, whether it is there or not.
func (s *syncer) linked() (string, error) {
	target, err := os.Readlink(filepath.Join(s.root, s.link))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return filepath.Base(target), nil
}

// publish replaces the link in one step: a reader sees the old worktree or the new one. A
// temporary link that a crash has left makes it fail, at every sync.
func (s *syncer) publish(commit, before string) error {
	temp := filepath.Join(s.root, "tmp-link")
	// Relative, so that it holds wherever the root is mounted.
	if err := os.Symlink(filepath.Join(worktrees, commit), temp); err != nil {
		return fmt.Errorf("error creating symlink: %w", err)
	}
	if err := os.Rename(temp, filepath.Join(s.root, s.link)); err != nil {
		return fmt.Errorf("error replacing symlink: %w", err)
	}
	if before == "" || before == commit {
		return nil
	}
	// The time of its last change is how a worktree says since when it is stale.
	now := time.Now()
	if err := os.Chtimes(s.worktree(before), now, now); err != nil {
		s.log.error(err, "can't change stale worktree mtime", "path", s.worktree(before))
	}
	return nil
}
