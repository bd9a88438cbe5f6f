package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	// minPinRetry and maxPinRetry limit how long a pinned commit is not fetched again after
	// that has failed. A server that does not have it, or does not send it, is asked as
	// seldom as possible at once.
	minPinRetry, maxPinRetry = 5 * time.Second, 10 * time.Minute
	// pinDir is the directory next to the root of git-sync in which a pinned commit is
	// fetched, and pinState the file that keeps the pin for the time after a restart.
	pinDir, pinState = "pin", "pin.json"
)

// pinning is what is known of the commit to serve. The lock of the agent guards it.
type pinning struct {
	requests.Pin
	// known is false until there is a file or a request.
	known bool
	// file is what the file said last.
	file requests.Pin
	// failure is why the commit cannot be served, or nil.
	failure *Failure
}

// pinFetch is the fetch of a pinned commit, or that there is none. Only the goroutine that publishes uses it.
type pinFetch struct {
	commit string
	cancel context.CancelFunc
	// pin is the last pinned commit.
	pin string
	// done receives the result.
	done chan fetchedCommit
	// notBefore is when a fetch that has failed may be tried again, after a back-off.
	notBefore time.Time
	backoff   time.Duration
	// unpublishedAt is when the release of a commit could not be published.
	unpublishedAt time.Time
}

type fetchedCommit struct {
	worktree string
	err      error
}

// keptPin is what pinState holds.
type keptPin struct {
	Pin, File requests.Pin
}

// requestPin takes in a request to serve a commit.
func (a *Agent) requestPin(ctx context.Context, pin requests.Pin) {
	a.mu.Lock()
	isNew := !a.pin.known || pin.Generation >= a.pin.Generation
	if isNew {
		isNew = a.setPin(ctx, pin)
	}
	a.mu.Unlock()
	if isNew {
		a.wakeUp()
	}
}

// readPin takes in what the file says if it has changed. It can be older than a request; one
// that goes back behind an earlier file is of a store that was restored.
func (a *Agent) readPin(ctx context.Context) {
	data, err := os.ReadFile(filepath.Join(a.ConfigDir, requests.PinFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	pin, parseErr := requests.ParsePin(data)
	if err := errors.Join(err, parseErr); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to read which commit to serve")
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.pin.file
	if a.pin.known && pin == before {
		return
	}
	a.pin.file = pin
	if !a.pin.known || pin.Generation >= a.pin.Generation || pin.Generation < before.Generation {
		a.setPin(ctx, pin)
	}
}

// setPin notes what to serve, and reports whether that is another commit. The caller holds the
// lock.
func (a *Agent) setPin(ctx context.Context, pin requests.Pin) (changed bool) {
	changed = !a.pin.known || pin.Commit != a.pin.Commit
	if pin == a.pin.Pin && a.pin.known {
		return false
	}
	a.pin.Pin, a.pin.known = pin, true
	if changed {
		a.pin.failure = nil
		a.retries = true
		klog.FromContext(ctx).Info("The commit to serve has changed", "pin", pin.Commit, "generation", pin.Generation)
	}
	a.changed()
	if err := a.savePin(); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to keep which commit to serve for a restart")
	}
	return changed
}

func (a *Agent) pinPath(name string) string { return filepath.Join(filepath.Dir(a.GitSync.Root), name) }

// savePin keeps the pin for a restart: the file may not have what was requested yet. The
// caller holds the lock.
func (a *Agent) savePin() error {
	data, err := json.Marshal(keptPin{Pin: a.pin.Pin, File: a.pin.file})
	if err != nil {
		return fmt.Errorf("encoding the pin: %w", err)
	}
	temporary := a.pinPath("." + pinState)
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return fmt.Errorf("writing the pin: %w", err)
	}
	return os.Rename(temporary, a.pinPath(pinState))
}

// loadPin reads what savePin has kept, and removes what an ended fetch has left.
func (a *Agent) loadPin() error {
	err := os.RemoveAll(a.pinPath(pinDir))
	data, readErr := os.ReadFile(a.pinPath(pinState))
	if errors.Is(readErr, fs.ErrNotExist) {
		return err
	}
	var kept keptPin
	if readErr == nil {
		readErr = json.Unmarshal(data, &kept)
	}
	if readErr != nil {
		return errors.Join(err, fmt.Errorf("reading the pin of before: %w", readErr))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pin.Pin, a.pin.file, a.pin.known = kept.Pin, kept.File, true
	return err
}

// pinned is the commit to serve, requests.PinCurrent, or empty for the last one that was fetched.
func (a *Agent) pinned() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pin.Commit
}

// followPin serves the pinned commit, which git-sync does not have.
func (a *Agent) followPin(ctx context.Context, commit string) {
	switch {
	case a.Releases.Current() == commit:
		a.notePin(ctx, commit, nil)
	case a.Releases.Has(commit):
		if now := a.Clock.Now(); now.Sub(a.fetch.unpublishedAt) >= minReleaseRetry {
			err := a.publish(ctx, commit, "")
			if err != nil {
				a.fetch.unpublishedAt = now
			}
			a.notePin(ctx, commit, err)
		}
	case a.fetch.commit == "" && !a.Clock.Now().Before(a.fetch.notBefore):
		a.startFetch(ctx, commit)
	}
}

// startFetch begins to fetch a commit that is not on the disk.
func (a *Agent) startFetch(ctx context.Context, commit string) {
	fetchCtx, cancel := context.WithCancel(ctx)
	done := make(chan fetchedCommit, 1)
	a.fetch.commit, a.fetch.cancel, a.fetch.done = commit, cancel, done
	a.background.Go(func() {
		worktree, err := a.GitSync.FetchCommit(fetchCtx, a.pinPath(pinDir), a.Link, commit)
		done <- fetchedCommit{worktree, err}
		a.wakeUp()
	})
}

// takeFetched makes a release of a commit that was fetched, or notes why that failed. A fetch
// of a commit that is not wanted any more is ended.
func (a *Agent) takeFetched(ctx context.Context, pin string) {
	if a.fetch.pin != pin {
		// What has failed before was of another commit.
		a.fetch.pin, a.fetch.notBefore, a.fetch.backoff, a.fetch.unpublishedAt = pin, time.Time{}, 0, time.Time{}
	}
	commit := a.fetch.commit
	if commit == "" {
		return
	}
	if commit != pin {
		a.fetch.cancel()
	}
	var got fetchedCommit
	select {
	case got = <-a.fetch.done:
	default:
		return
	}
	a.fetch.cancel()
	a.fetch.commit = ""
	err := got.err
	if err == nil {
		err = a.makeRelease(ctx, commit, a.pinPath(pinDir), got.worktree)
	}
	if removeErr := os.RemoveAll(a.pinPath(pinDir)); removeErr != nil {
		klog.FromContext(ctx).Error(removeErr, "Failed to remove the repository of a commit that was fetched")
	}
	if ctx.Err() != nil || commit != pin {
		return
	}
	if err == nil {
		a.fetch.backoff = 0
		return
	}
	a.fetch.backoff = min(max(2*a.fetch.backoff, minPinRetry), maxPinRetry)
	if isFinal(err) {
		a.fetch.backoff = maxPinRetry
	}
	a.fetch.notBefore = a.Clock.Now().Add(a.fetch.backoff)
	a.notePin(ctx, commit, err)
}

// isFinal reports whether the next fetch of a commit is likely to fail for the same reason.
func isFinal(err error) bool {
	var failed *gitsync.CommitError
	return errors.Is(err, release.ErrPathNotFound) || errors.Is(err, release.ErrTooLarge) ||
		errors.As(err, &failed) && (failed.Reason == gitsync.ReasonCommitRefused || failed.Reason == gitsync.ReasonRefNotFound)
}

// notePin takes in whether the pinned commit is served, or why not.
func (a *Agent) notePin(ctx context.Context, commit string, err error) {
	var reason gitsync.Reason
	text := ""
	var failed *gitsync.CommitError
	switch {
	case ctx.Err() != nil:
		return
	case errors.Is(err, release.ErrPathNotFound):
		reason = gitsync.ReasonPathNotFound
	case errors.As(err, &failed):
		reason, text = failed.Reason, failed.Text
	case err != nil:
		reason, text = whyUnpublished(err)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to serve the pinned commit, which is tried again", "commit", commit)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pin.Commit != commit {
		return
	}
	before := a.pin.failure
	a.pin.failure = before.next(reason, a.Clock.Now(), text)
	if before != a.pin.failure {
		a.changed()
	}
}
