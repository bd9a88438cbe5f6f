package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// releaseTimeout is the time limit of making a release.
const releaseTimeout = 5 * time.Minute

// fetched is the commit that git-sync has published, and its worktree.
func (a *Agent) fetched() (commit, worktree string) {
	target, err := os.Readlink(filepath.Join(a.GitSync.Root, a.Link))
	if err != nil || !requests.IsCommit(filepath.Base(target)) {
		return "", ""
	}
	worktree = filepath.Join(a.GitSync.Root, target)
	if info, err := os.Lstat(worktree); err != nil || !info.IsDir() {
		// git-sync has removed it, and will make it again.
		return "", ""
	}
	return filepath.Base(target), worktree
}

// makeRelease makes a release of a commit from its worktree in a repository, unless there is
// one.
func (a *Agent) makeRelease(ctx context.Context, commit, repository, worktree string) error {
	if a.Releases.Has(commit) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	var made release.Made
	err := a.GitSync.Do(func() (err error) {
		made, err = a.Releases.Make(ctx, repository, worktree, commit)
		return err
	})
	if err != nil {
		return err
	}
	if made.Unknown != nil {
		klog.FromContext(ctx).Error(made.Unknown, "Failed to read the message of a commit")
	}
	if made.RefusedLinks > 0 {
		klog.FromContext(ctx).Info("Some symbolic links are not served: they lead out of the repository, to hidden files, to themselves, or nowhere", "commit", commit, "links", made.RefusedLinks)
	}
	return nil
}

// publish makes a release of a commit and serves it, unless a later commit takes its place
// while it is held.
func (a *Agent) publish(ctx context.Context, commit, worktree string) error {
	logger := klog.FromContext(ctx)
	begin := a.Clock.Now()
	if err := a.makeRelease(ctx, commit, a.GitSync.Root, worktree); err != nil {
		return err
	}
	source, _ := a.GitSync.Fetched()
	err := a.Releases.Prepare(commit)
	later := a.hold(ctx, commit)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if later != "" {
		logger.Info("Not publishing a commit, because a later one has been fetched while it was held", "commit", commit, "later", later)
		return nil
	}
	err = errors.Join(err, a.Releases.Switch(commit, a.Clock.Now()))
	if a.Releases.Current() == commit {
		if a.unserved == commit {
			a.unserved = ""
		}
		a.published(commit, source)
		err = errors.Join(err, a.refresh())
		logger.Info("Published", "commit", commit, "after", a.Clock.Since(begin))
	}
	if err := errors.Join(err, a.Releases.Collect(a.pinned())); err != nil {
		// What is not kept, or not removed, does not take back what is published.
		logger.Error(err, "Failed to keep or remove earlier releases")
	}
	if a.Releases.Current() != commit {
		return fmt.Errorf("publishing commit %s: %w", commit, err)
	}
	return nil
}

// refresh reads what is published.
func (a *Agent) refresh() error {
	releases, err := a.Releases.List()
	if err != nil {
		return err
	}
	current := a.Releases.Current()
	pointers := a.status.LFSPointers
	if current != "" && current != a.counted {
		if pointers, err = a.Releases.CountLFSPointers(current); err != nil {
			return err
		}
		a.counted = current
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if current != a.status.Commit {
		a.moved()
	} else if pointers != a.status.LFSPointers {
		a.changed()
	}
	a.status.Commit, a.status.Releases, a.status.LFSPointers = current, releases, pointers
	about := a.Releases.About(current)
	a.status.Subject, a.status.Author = about.Subject, about.Author
	a.status.Path = a.Releases.Published
	return nil
}
