package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

func (s *syncer) worktree(commit string) string { return filepath.Join(s.root, worktrees, commit) }

// published is the commit that the link points to, or "" if it points to none.
func (s *syncer) published() string {
	target, err := os.Readlink(filepath.Join(s.root, s.link))
	if err != nil || filepath.Dir(target) != worktrees || !fullHash.MatchString(filepath.Base(target)) {
		return ""
	}
	if _, err := os.Stat(filepath.Join(s.root, target, ".git")); err != nil {
		return ""
	}
	return filepath.Base(target)
}

// publish replaces the link in one step: a reader sees the old worktree or the new one.
func (s *syncer) publish(commit, before string) error {
	// The time of its last change is how a worktree says since when it is stale.
	if before != "" {
		now := time.Now()
		if err := os.Chtimes(s.worktree(before), now, now); err != nil {
			return fmt.Errorf("marking the worktree published before: %w", err)
		}
	}
	temp := filepath.Join(s.root, ".link-"+s.link)
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing what an earlier run left: %w", err)
	}
	// Relative, so that it holds wherever the root is mounted.
	if err := os.Symlink(filepath.Join(worktrees, commit), temp); err != nil {
		return fmt.Errorf("publishing %s: %w", commit, err)
	}
	if err := os.Rename(temp, filepath.Join(s.root, s.link)); err != nil {
		return fmt.Errorf("publishing %s: %w", commit, err)
	}
	return nil
}

// removeStale removes worktrees that are no longer published and have had their time.
func (s *syncer) removeStale(ctx context.Context, current string) error {
	entries, err := os.ReadDir(filepath.Join(s.root, worktrees))
	if err != nil {
		return fmt.Errorf("listing worktrees: %w", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if entry.Name() == current || err != nil || time.Since(info.ModTime()) < s.staleTimeout {
			continue
		}
		slog.Info("removing a stale worktree", "commit", entry.Name())
		if err := s.remove(ctx, s.worktree(entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a worktree and what git knows about it.
func (s *syncer) remove(ctx context.Context, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing a worktree: %w", err)
	}
	_, err := s.git(ctx, s.root, "worktree", "prune")
	return err
}
