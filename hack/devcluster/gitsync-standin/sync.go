package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// fullHash is a commit that names itself: it can never mean another one.
var fullHash = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

const worktrees = ".worktrees"

// complete checks the flags and fills in the rest.
func (o *options) complete() error {
	switch {
	case o.repo == "":
		return errors.New("--repo is missing: name the git repository to publish")
	case o.root == "":
		return errors.New("--root is missing: name the folder to work in")
	case strings.HasPrefix(o.repo, "-"), strings.HasPrefix(o.ref, "-"), o.ref == "":
		return errors.New("--repo and --ref must not be empty or begin with a hyphen, which git would read as an option")
	case o.submodules != "recursive" && o.submodules != "shallow" && o.submodules != "off":
		return fmt.Errorf("--submodules=%s is unknown: use recursive, shallow or off", o.submodules)
	case (o.username == "") != (o.passwordFile == ""):
		return errors.New("--username and --password-file need each other")
	case o.depth < 0:
		return fmt.Errorf("--depth=%d is negative: use 0 for everything", o.depth)
	case o.period <= 0, o.syncTimeout <= 0, o.staleTimeout < 0:
		return errors.New("--period and --sync-timeout must be positive, --stale-worktree-timeout not negative")
	}
	if len(o.sshKeyFiles) == 0 {
		o.sshKeyFiles = []string{"/etc/git-secret/ssh"}
	}
	if o.link == "" {
		o.link = strings.TrimSuffix(filepath.Base(o.repo), ".git")
	}
	if strings.Contains(o.link, "/") || o.link == "" || o.link == "." || o.link == ".." {
		return fmt.Errorf("--link=%s must be a name in --root", o.link)
	}
	root, err := filepath.Abs(o.root)
	if err != nil {
		return fmt.Errorf("resolving --root: %w", err)
	}
	o.root = root
	return nil
}

// syncer publishes one repository.
type syncer struct {
	options
	counts *counts
}

// sync makes one attempt to publish what the ref means now.
func (s *syncer) sync(ctx context.Context) (changed bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.syncTimeout, fmt.Errorf("the sync takes longer than --sync-timeout=%s", s.syncTimeout))
	defer cancel()
	current := s.published()
	if fullHash.MatchString(s.ref) && current == s.ref {
		return false, s.removeStale(ctx, current)
	}
	if err := s.prepare(ctx); err != nil {
		return false, err
	}
	commit, err := s.fetch(ctx)
	if err != nil {
		return false, err
	}
	if commit == current {
		return false, s.removeStale(ctx, current)
	}
	if err := s.checkOut(ctx, commit); err != nil {
		return false, err
	}
	if err := s.publish(commit, current); err != nil {
		return false, err
	}
	slog.Info("published", "commit", commit, "before", current)
	return true, s.removeStale(ctx, commit)
}

// prepare makes the root a repository.
func (s *syncer) prepare(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(s.root, ".git", "HEAD")); err == nil {
		return nil
	}
	if err := os.MkdirAll(s.root, 0o755); err != nil {
		return fmt.Errorf("making --root: %w", err)
	}
	_, err := s.git(ctx, s.root, "init", "--quiet", "--initial-branch=gitsync-standin")
	return err
}

// fetch brings the ref's commit here and returns its hash.
func (s *syncer) fetch(ctx context.Context) (string, error) {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-auto-gc", "--no-recurse-submodules"}
	if s.depth > 0 {
		args = append(args, fmt.Sprintf("--depth=%d", s.depth))
	}
	if _, err := s.git(ctx, s.root, append(args, s.repo, s.ref)...); err != nil {
		return "", err
	}
	// The tag itself is an object of its own; the commit is what it points to.
	return s.git(ctx, s.root, "rev-parse", "FETCH_HEAD^{commit}")
}

// checkOut makes the worktree of a commit.
func (s *syncer) checkOut(ctx context.Context, commit string) error {
	dir := s.worktree(commit)
	// What a crash left behind is not to be trusted.
	if err := s.remove(ctx, dir); err != nil {
		return err
	}
	if _, err := s.git(ctx, s.root, "worktree", "add", "--quiet", "--force", "--detach", dir, commit); err != nil {
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
		args = append(args, fmt.Sprintf("--depth=%d", s.depth))
	}
	_, err := s.git(ctx, dir, args...)
	return err
}

// git runs git and returns what it printed.
func (s *syncer) git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "safe.directory=*", "-c", "advice.detachedHead=false"}, args...)...)
	// A clean end lets git remove its lock files.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	environment, err := s.environment()
	if err != nil {
		return "", err
	}
	cmd.Env = environment
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
