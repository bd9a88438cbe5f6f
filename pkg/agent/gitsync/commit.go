package gitsync

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/klog/v2"
)

// CommitError is why a commit could not be fetched.
type CommitError struct {
	SyncError
	// Ended is how git-sync has ended.
	Ended error
}

func (e *CommitError) Error() string {
	return fmt.Sprintf("fetching a commit: %s: %s (%v)", e.Reason, e.Text, e.Ended)
}

func (e *CommitError) Unwrap() error { return e.Ended }

// FetchCommit fetches a commit that git-sync does not follow, by a second one that ends then,
// and returns its worktree. Everything is in a root of its own, which the caller removes. One
// commit is fetched at a time.
func (s *Supervisor) FetchCommit(ctx context.Context, root, link, commit string) (worktree string, err error) {
	if err := os.RemoveAll(root); err != nil {
		return "", fmt.Errorf("removing what was fetched before: %w", err)
	}
	// In a directory that is emptied before each of these, and not next to what the other git-sync writes.
	errorFile := filepath.Join(s.temporaryOf(root), "error.json")
	username, err := s.readUsername()
	if err != nil {
		return "", err
	}
	command := exec.Command(s.Command[0], onceArguments(s.Command[1:], root, link, commit, errorFile)...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if command.Env, err = s.environmentOf(root); err != nil {
		return "", err
	}
	command.Env = append(command.Env, s.usernameVariables(username)...)
	command.Env = append(command.Env, formatVariable+"="+formatOf(commit))
	klog.FromContext(ctx).Info("Fetching a commit with a second git-sync", "commit", commit)
	if err := s.runBeside(ctx, command); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		failed, readErr := ReadErrorFile(errorFile)
		if failed.Reason == ReasonNone {
			failed = SyncError{Reason: ReasonUnknown, At: s.Clock.Now()}
		}
		if errors.Is(err, errTooManyFiles) {
			failed = tooManyFiles(s.Clock.Now())
		}
		if errors.Is(err, context.DeadlineExceeded) {
			failed = SyncError{Reason: ReasonTimedOut, At: s.Clock.Now()}
		}
		return "", &CommitError{SyncError: failed, Ended: errors.Join(err, readErr)}
	}
	target, err := os.Readlink(filepath.Join(root, link))
	if err != nil || filepath.Base(target) != commit {
		return "", &CommitError{SyncError{Reason: ReasonUnknown, At: s.Clock.Now()}, fmt.Errorf("git-sync has published %q: %w", target, err)}
	}
	return filepath.Join(root, target), nil
}

// onceFlags are the flags of git-sync that are other ones for one sync.
var onceFlags = []string{
	"--ref", "--root", "--link", "--error-file", "--max-failures", "--one-time",
	"--period", "--init-period", "--sync-on-signal", "--http-bind", "--http-metrics",
}

// onceArguments are those of git-sync to fetch a commit once.
func onceArguments(arguments []string, root, link, commit, errorFile string) []string {
	kept := slices.DeleteFunc(slices.Clone(arguments), func(argument string) bool {
		name, _, _ := strings.Cut(argument, "=")
		return slices.Contains(onceFlags, name)
	})
	return append(kept, "--ref="+commit, "--root="+root, "--link="+link, "--error-file="+errorFile, "--max-failures=0", "--one-time")
}
