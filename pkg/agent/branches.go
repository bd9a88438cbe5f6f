package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/branches"
)

// minListRetry and maxListRetry limit how long branches are not listed again after that has
// failed, while nothing is fetched either.
const minListRetry, maxListRetry = 10 * time.Second, 15 * time.Minute

// BranchesStatus is which branches match the patterns of previews.
type BranchesStatus struct {
	// ID identifies the repository and the patterns.
	ID string `json:"id"`
	// Since is when they were first listed as they are now, or nil before that.
	Since *time.Time `json:"since,omitempty"`
	// Branches are in the order of their names, and only the first if More is true.
	Branches []gitsync.Branch `json:"branches,omitempty"`
	More     bool             `json:"more,omitempty"`
	// Head is the branch of the remote's HEAD, if that was asked for.
	Head string `json:"head,omitempty"`
	// Failure is why the last listing has failed, or nil. The branches are then those of before.
	Failure *Failure `json:"failure,omitempty"`
}

// listing is when branches were last listed. Only the goroutine that lists them uses it.
type listing struct {
	id string
	// at is when the last listing began, and contact the last fetch before it.
	at, contact time.Time
	// failures is how many listings in a row have failed.
	failures int
}

// due reports whether branches are to be listed: after a fetch, or in its place. Without polling, period is 0.
func (l *listing) due(id string, contact, now time.Time, period time.Duration) bool {
	waited := now.Sub(l.at)
	switch {
	case id != l.id:
		return true
	case waited < minAskInterval:
		return false
	case !contact.IsZero() && !contact.Equal(l.contact):
		return true
	case l.failures > 0:
		return waited >= min(minListRetry<<min(l.failures-1, 10), maxListRetry)
	default:
		// Longer than the time to the next fetch, which is followed by the next listing.
		return period > 0 && waited >= period*3/2
	}
}

// listBranches lists the branches that may have previews, if that is due.
func (a *Agent) listBranches(ctx context.Context) {
	wanted, ok := a.readPreviews(ctx)
	if !ok {
		a.listed = listing{}
		a.noteBranches(nil)
		return
	}
	id, contact, now := wanted.ID(a.GitSync.Repository()), a.GitSync.LastContact(), a.Clock.Now()
	if a.GitSync.Paused() || !a.listed.due(id, contact, now, a.GitSync.Period) {
		return
	}
	a.listed.id, a.listed.at = id, now
	if !contact.IsZero() {
		a.listed.contact = contact
	}
	found, err := a.GitSync.ListBranches(ctx, func(branch string) bool {
		return branches.IsValid(branch) && branches.Match(wanted.Branches, branch)
	}, wanted.Head)
	if ctx.Err() != nil {
		return
	}
	status := &BranchesStatus{ID: id, Branches: found.List, More: found.More, Head: found.Head}
	if err == nil {
		a.listed.failures = 0
	} else {
		a.listed.failures++
		status.Failure = listFailure(err, a.Clock.Now())
		klog.FromContext(ctx).Error(err, "Failed to list the branches for previews, which is tried again")
	}
	a.noteBranches(status)
}

func listFailure(err error, now time.Time) *Failure {
	failure := &Failure{Reason: gitsync.ReasonUnknown, Since: now.UTC(), Count: 1}
	var failed *gitsync.ListError
	if errors.As(err, &failed) {
		failure.Reason, failure.Text = failed.Reason, failed.Text
	}
	return failure
}

// readPreviews returns which branches are to be listed. It reports false if none are.
func (a *Agent) readPreviews(ctx context.Context) (requests.Previews, bool) {
	data, err := os.ReadFile(filepath.Join(a.ConfigDir, requests.PreviewsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return requests.Previews{}, false
	}
	previews, parseErr := requests.ParsePreviews(data)
	if err := errors.Join(err, parseErr); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to read which branches to list")
		return requests.Previews{}, false
	}
	return previews, true
}

// noteBranches takes in a listing, or that there is none. After one that has failed, what was
// listed before stays.
func (a *Agent) noteBranches(status *BranchesStatus) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, now := a.status.Branches, a.Clock.Now().UTC()
	if status == nil || before == nil || before.ID != status.ID {
		if status != nil && status.Failure == nil {
			status.Since = &now
		}
		if status != before {
			a.status.Branches = status
			a.changed()
		}
		return
	}
	isNews := (before.Failure == nil) != (status.Failure == nil)
	switch {
	case status.Failure != nil:
		status.Since, status.Branches, status.More, status.Head = before.Since, before.Branches, before.More, before.Head
		status.Failure = before.Failure.next(status.Failure.Reason, status.Failure.Since, status.Failure.Text)
		isNews = isNews || before.Failure.Reason != status.Failure.Reason
	case before.Since != nil && slices.Equal(before.Branches, status.Branches) && before.More == status.More && before.Head == status.Head:
		status.Since = before.Since
	default:
		status.Since, isNews = &now, true
	}
	a.status.Branches = status
	if isNews {
		a.changed()
	}
}
