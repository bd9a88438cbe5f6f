package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const worktrees = ".worktrees"

// syncer publishes one repository.
type syncer struct {
	options
	counts *counts
	log    *logger
	// synced is the number of syncs that published, or confirmed what is published.
	synced int
	// hash is the commit of the last sync that succeeded.
	hash string
}

// sync makes one attempt to publish what the ref means now, and removes what is stale if
// it succeeds, all within --sync-timeout.
func (s *syncer) sync(ctx context.Context) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.syncTimeout)
	defer cancel()
	if changed, err = s.update(ctx); err != nil {
		return false, err
	}
	if err := s.removeStale(ctx, s.hash); err != nil {
		s.log.error(err, "git cleanup failed")
	}
	return changed, nil
}

func (s *syncer) update(ctx context.Context) (changed bool, err error) {
	if _, err := s.environment(); err != nil {
		return false, fmt.Errorf("credential refresh failed: %w", err)
	}
	if err := s.prepare(ctx); err != nil {
		return false, err
	}
	before, err := s.linked()
	if err != nil {
		return false, err
	}
	commit, err := s.fetch(ctx)
	if err != nil {
		return false, err
	}
	current := before
	if current == commit && !s.sound(ctx, commit) {
		// It is what is published that is removed, before there is another.
		s.log.info("worktree failed checks or was empty", "path", s.worktree(commit))
		if err := s.remove(ctx, s.worktree(commit)); err != nil {
			return false, err
		}
		current = ""
	}
	s.hash = commit
	changed = current != commit
	if !changed && s.synced > 0 {
		return false, nil
	}
	s.log.info("update required", "ref", s.ref, "local", current, "remote", commit, "syncCount", s.synced)
	if _, err := s.git(ctx, s.root, "reset", "--soft", commit, "--"); err != nil {
		return false, err
	}
	if changed {
		if err := s.addWorktree(ctx, commit); err != nil {
			return false, err
		}
	}
	if err := s.checkOut(ctx, commit); err != nil {
		return false, err
	}
	if changed {
		if err := s.publish(commit, before); err != nil {
			return false, err
		}
	}
	s.counts.setReady()
	s.synced++
	s.log.info("updated successfully", "ref", s.ref, "remote", commit, "syncCount", s.synced)
	return changed, nil
}

// prepare makes the root a repository. One that is not sound is removed with all that is
// published from it; a lock file that a killed git has left is enough for that.
func (s *syncer) prepare(ctx context.Context) error {
	if err := os.MkdirAll(s.root, 0o775); err != nil {
		return fmt.Errorf("creating --root: %w", err)
	}
	if !s.soundRoot(ctx) {
		s.log.info("repo directory was empty or failed checks", "path", s.root)
		if err := s.wipe(); err != nil {
			return fmt.Errorf("can't wipe unusable root directory: %w", err)
		}
		s.log.info("initializing repo directory", "path", s.root)
		if _, err := s.git(ctx, s.root, "init", "-b", "git-sync"); err != nil {
			return err
		}
		if !s.soundRoot(ctx) {
			return errors.New("can't initialize git repo directory")
		}
	}
	// Relative URLs of submodules are relative to this one.
	if _, err := s.git(ctx, s.root, "config", "remote.origin.url", s.repo); err != nil {
		return err
	}
	return nil
}

func (s *syncer) soundRoot(ctx context.Context) bool {
	if empty(s.root) {
		return false
	}
	top, err := s.git(ctx, s.root, "rev-parse", "--show-toplevel")
	if resolved, rerr := filepath.EvalSymlinks(s.root); err != nil || rerr != nil || top != resolved {
		s.log.error(err, "can't get repo toplevel", "path", s.root)
		return false
	}
	if _, err := s.git(ctx, s.root, "fsck", "--no-progress", "--connectivity-only"); err != nil {
		s.log.error(err, "repo fsck failed", "path", s.root)
		return false
	}
	lock := filepath.Join(s.root, ".git", "shallow.lock")
	if _, err := os.Stat(lock); !errors.Is(err, fs.ErrNotExist) {
		s.log.error(err, "repo contains lock file", "path", lock)
		return false
	}
	return true
}

// sound checks a worktree, on every sync, within what is left of its time.
func (s *syncer) sound(ctx context.Context, commit string) bool {
	dir := s.worktree(commit)
	if empty(dir) {
		return false
	}
	head, err := s.git(ctx, dir, "rev-parse", "HEAD")
	if err != nil || head != commit {
		s.log.error(err, "can't get worktree HEAD", "path", dir, "head", head)
		return false
	}
	if _, err := s.git(ctx, dir, "fsck", "--no-progress", "--connectivity-only"); err != nil {
		s.log.error(err, "worktree fsck failed", "path", dir)
		return false
	}
	return true
}

func empty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) == 0
}

// wipe removes all of the root, but not links that lead nowhere by then, such as the
// published one.
func (s *syncer) wipe() error {
	entries, err := os.ReadDir(s.root)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		path := filepath.Join(s.root, entry.Name())
		if _, err := os.Stat(path); err != nil {
			s.log.error(err, "failed to stat path, skipping", "path", path)
			continue
		}
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// fetch brings the ref's commit here and returns its hash.
func (s *syncer) fetch(ctx context.Context) (string, error) {
	args := []string{"fetch", s.repo, s.ref, "--verbose", "--no-progress", "--prune", "--no-auto-gc"}
	if s.depth > 0 {
		args = append(args, "--depth", strconv.Itoa(s.depth))
	}
	if _, err := s.git(ctx, s.root, args...); err != nil {
		return "", err
	}
	// The tag itself is an object of its own; the commit is what it points to.
	return s.git(ctx, s.root, "rev-parse", "FETCH_HEAD^{}")
}

// addWorktree makes an empty worktree, in the place of one that a crash may have left.
func (s *syncer) addWorktree(ctx context.Context, commit string) error {
	dir := s.worktree(commit)
	if _, err := os.Stat(dir); err == nil {
		if err := s.remove(ctx, dir); err != nil {
			return err
		}
	}
	_, err := s.git(ctx, s.root, "worktree", "add", "--force", "--detach", dir, commit, "--no-checkout")
	return err
}

// checkOut fills the worktree of a commit.
func (s *syncer) checkOut(ctx context.Context, commit string) error {
	dir := s.worktree(commit)
	// A relative path holds wherever the root is mounted.
	link := "gitdir: " + filepath.Join("..", "..", ".git", "worktrees", commit) + "\n"
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte(link), 0o644); err != nil {
		return err
	}
	if _, err := s.git(ctx, dir, "reset", "--hard", commit, "--"); err != nil {
		return err
	}
	if s.submodules == "off" {
		return nil
	}
	args := []string{"submodule", "update", "--init"}
	if s.submodules == "recursive" {
		args = append(args, "--recursive")
	}
	if s.depth > 0 {
		args = append(args, "--depth", strconv.Itoa(s.depth))
	}
	_, err := s.git(ctx, dir, args...)
	return err
}

// removeStale removes worktrees that are no longer published and have had their time.
func (s *syncer) removeStale(ctx context.Context, current string) error {
	entries, err := os.ReadDir(filepath.Join(s.root, worktrees))
	if err != nil {
		return fmt.Errorf("listing worktrees: %w", err)
	}
	removed := 0
	for _, entry := range entries {
		info, err := entry.Info()
		if entry.Name() == current || err != nil || time.Since(info.ModTime()) <= s.staleTimeout {
			continue
		}
		removed++
		if err := os.RemoveAll(s.worktree(entry.Name())); err != nil {
			return fmt.Errorf("removing a stale worktree: %w", err)
		}
	}
	if removed == 0 {
		return nil
	}
	for _, args := range [][]string{{"worktree", "prune", "--verbose"}, {"reflog", "expire", "--expire-unreachable=all", "--all"}, {"gc"}} {
		if _, err := s.git(ctx, s.root, args...); err != nil {
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
	_, err := s.git(ctx, s.root, "worktree", "prune", "--verbose")
	return err
}

// commandLine is a command for a log.
func commandLine(args []string) string {
	quoted := make([]string, 0, len(args))
	for _, arg := range args {
		if strings.ContainsAny(arg, " \t\n") {
			arg = strconv.Quote(arg)
		}
		quoted = append(quoted, arg)
	}
	return strings.Join(quoted, " ")
}
