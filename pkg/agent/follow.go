package agent

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	// linkInterval is how often the link of git-sync is read.
	linkInterval = 200 * time.Millisecond
	// hurriedInterval is linkInterval while a requested sync is under way.
	hurriedInterval = 20 * time.Millisecond
	// minReleaseRetry and maxReleaseRetry limit how long a release that failed is not tried
	// again: each try links the whole tree, and some commits can never become a release.
	minReleaseRetry, maxReleaseRetry = 2 * time.Second, 5 * time.Minute
)

// followAlways follows until ctx ends.
func (a *Agent) followAlways(ctx context.Context) {
	for {
		a.follow(ctx)
		interval := linkInterval
		if a.isHurried() {
			interval = hurriedInterval
		}
		timer := a.Clock.NewTimer(interval)
		select {
		case <-ctx.Done():
		case <-a.wake:
		case <-timer.C():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// wakeUp has what is to be done next begin at once.
func (a *Agent) wakeUp() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// follow publishes what is to be served, if that is another commit: the one that git-sync
// has, or the pinned one.
func (a *Agent) follow(ctx context.Context) {
	a.syncExpected(ctx)
	a.advanceSync(ctx)
	a.retryRequested()
	newest, worktree := a.fetched()
	pin := a.notePending(newest)
	a.takeFetched(ctx, pin)
	if requests.IsCommit(pin) && pin != newest {
		a.followPin(ctx, pin)
	}
	if ctx.Err() != nil {
		return
	}
	settled := a.followNewest(ctx, newest, worktree, pin != "" && pin != newest)
	if pin != "" && pin == newest && a.Releases.Current() == pin {
		a.notePin(ctx, pin, nil)
	}
	if ctx.Err() == nil {
		a.endSync(ctx, newest, settled)
	}
}

// retryRequested has a release that could not be made be tried again at once, if that was asked for.
func (a *Agent) retryRequested() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.retries {
		a.retries, a.failedBackoff = false, 0
	}
}

// notePending takes in which commit git-sync has, and returns the pinned one.
func (a *Agent) notePending(newest string) (pin string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.status.Newest != newest && newest != "" {
		a.status.Newest = newest
		if a.pin.Commit != "" {
			// Otherwise it is news once it is held or served.
			a.changed()
		}
	}
	return a.pin.Commit
}

// followNewest publishes the commit that git-sync has, or only makes its release, if another
// one is to be served. It reports whether nothing of it is left to be done.
func (a *Agent) followNewest(ctx context.Context, commit, worktree string, isPinned bool) (settled bool) {
	served := a.Releases.Current()
	isDone := commit == served || isPinned && (commit == a.dropped || a.Releases.Has(commit))
	if commit == a.refused || isDone {
		a.noteContact(commit)
	}
	switch {
	case commit == "":
		return false
	case commit == a.refused:
		return true
	case commit == a.failed && a.Clock.Now().Sub(a.failedAt) < a.failedBackoff:
		return true
	case isDone:
		if a.failed != "" || a.refused != "" {
			a.note(ctx, commit, nil)
		}
		return true
	}
	var err error
	if isPinned {
		err = a.prepareNewest(ctx, commit, worktree)
	} else {
		err = a.publish(ctx, commit, worktree)
	}
	if ctx.Err() != nil {
		return false
	}
	a.note(ctx, commit, err)
	if err := a.refresh(); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to list the releases")
	}
	return err != nil || isPinned || a.Releases.Current() == commit
}

// prepareNewest makes the release of the commit that git-sync has while another one is
// pinned, so that it can be served at once. It takes the place of an earlier one.
func (a *Agent) prepareNewest(ctx context.Context, commit, worktree string) error {
	if err := a.makeRelease(ctx, commit, a.GitSync.Root, worktree); err != nil {
		return err
	}
	if err := a.Releases.Discard(a.unserved); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to remove a release that was never served")
	}
	a.unserved = commit
	err := a.Releases.Collect(a.pinned())
	if !a.Releases.Has(commit) {
		a.dropped = commit
	}
	return err
}

// note takes in whether the last commit is published, or why not.
func (a *Agent) note(ctx context.Context, commit string, err error) {
	failedBefore, refusedBefore := a.failed, a.refused
	a.failed, a.refused = "", ""
	switch logger := klog.FromContext(ctx); {
	case errors.Is(err, release.ErrPathNotFound):
		a.refused = commit
		logger.Info("Not publishing a commit, which lacks the published path", "commit", commit, "path", a.Releases.Published)
	case err != nil:
		if commit != failedBefore {
			a.failedBackoff = 0
		}
		a.failed, a.failedAt = commit, a.Clock.Now()
		a.failedBackoff = min(max(2*a.failedBackoff, minReleaseRetry), maxReleaseRetry)
		logger.Error(err, "Failed to publish a commit, which is tried again", "commit", commit)
	}
	reason, text := gitsync.ReasonNone, ""
	if a.failed != "" {
		reason, text = whyUnpublished(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unpublished = a.unpublished.next(reason, a.Clock.Now(), text)
	a.pathNotFoundSince = time.Time{}
	if a.refused != "" {
		a.pathNotFoundSince = a.Clock.Now()
	}
	if a.failed != "" || a.refused != refusedBefore {
		a.changed()
	}
}

// whyUnpublished returns why the release of a commit could not be made, and what there is to say about that.
func whyUnpublished(err error) (reason gitsync.Reason, text string) {
	if errors.Is(err, release.ErrTooLarge) {
		return gitsync.ReasonStorageFull, err.Error()
	}
	return gitsync.Classify(err.Error()), ""
}

// noteContact has requests end that wait for a sync, once it is known that there is nothing
// to publish.
func (a *Agent) noteContact(commit string) {
	hash, at := a.GitSync.Fetched()
	a.mu.Lock()
	defer a.mu.Unlock()
	if at.IsZero() || at.Equal(a.contact) || hash != commit && hash != a.source {
		return
	}
	a.contact = at
	a.changed()
}
