package agent

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/branches"
)

const (
	// releaseTimeout limits the time for making a release.
	releaseTimeout = 5 * time.Minute
	// earlierTimeout limits how long the first release waits for files of earlier commits.
	earlierTimeout = 20 * time.Second
)

// start carries out an action. A slow one runs in a goroutine, which posts its result.
func (a *Agent) start(ctx context.Context, next action) {
	switch next := next.(type) {
	case cancelJob:
		a.cancelJob()
	case keepPin:
		if err := a.keepPin(keptPin{Pin: next.pin, File: next.file}); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to keep which commit to serve for a restart")
		}
	case fetch:
		a.startJob(ctx, func(ctx context.Context) event { return a.fetch(ctx, next.ref) })
	case makeRelease:
		a.startJob(ctx, func(ctx context.Context) event { return a.makeRelease(ctx, next.commit) })
	case compact:
		a.startJob(ctx, a.compact)
	case prepare:
		a.actions.Go(func() { a.post(ctx, a.prepare(ctx, next.commit)) })
	case publish:
		a.actions.Go(func() {
			result := a.publish(ctx, next.commit)
			a.post(ctx, result)
			a.post(ctx, a.collect(ctx, collect{discard: next.discard, pinned: next.pinned}))
		})
	case collect:
		a.actions.Go(func() { a.post(ctx, a.collect(ctx, next)) })
	case listBranches:
		a.actions.Go(func() { a.post(ctx, a.listBranches(ctx, next.Previews)) })
	}
}

// startJob starts a job of git, which cancelJob ends.
func (a *Agent) startJob(ctx context.Context, work func(context.Context) event) {
	jobCtx, cancel := context.WithCancel(ctx)
	a.cancelJob = cancel
	a.actions.Go(func() {
		defer cancel()
		a.post(ctx, work(jobCtx))
	})
}

func (a *Agent) fetch(ctx context.Context, ref string) event {
	begin := a.Clock.Now()
	tree, err := a.repository.Fetch(ctx, ref)
	took := a.Clock.Since(begin)
	if err != nil {
		if ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Failed to fetch the repository, which is tried again", "ref", ref)
		}
		return fetched{took: took, err: err}
	}
	a.tree = tree
	return fetched{commit: tree.Commit, took: took}
}

// makeRelease checks out the last fetched tree, and makes its release.
func (a *Agent) makeRelease(ctx context.Context, commit string) event {
	logger := klog.FromContext(ctx)
	err := a.repository.Checkout(ctx, a.tree)
	if err == nil {
		var about release.About
		var messageErr error
		if about.Author, about.Subject, messageErr = a.repository.Message(ctx, a.tree); messageErr != nil {
			// A release without its message is served all the same.
			logger.Error(messageErr, "Failed to read the message of a commit", "commit", commit)
		}
		about.Content = a.tree.ID
		if current := a.Releases.Current(); current != commit {
			about = about.Replacing(current, a.Releases.About(current))
		}
		makeCtx, cancel := context.WithTimeout(ctx, releaseTimeout)
		defer cancel()
		err = a.Releases.Make(makeCtx, release.Source{
			Worktree: a.repository.Worktree(), Commit: commit, Files: a.tree.Files, About: about,
		})
	}
	if err != nil && ctx.Err() == nil {
		logger.Error(err, "Failed to make the release of a commit", "commit", commit)
	}
	if err == nil && len(a.list(ctx)) == 1 {
		a.keepEarlier(ctx)
	}
	return releaseMade{err}
}

// keepEarlier fetches the hashed files that a pod with earlier releases keeps: pages that other pods served still load
// them.
func (a *Agent) keepEarlier(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, earlierTimeout)
	defer cancel()
	err := a.repository.Earlier(ctx, a.tree, a.Releases.Keep-1, release.IsHashed, a.Releases.KeepEarlier)
	if err != nil {
		klog.FromContext(ctx).Info("Files of earlier commits are not kept", "err", err)
	}
}

func (a *Agent) compact(ctx context.Context) event {
	if err := a.repository.Compact(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Failed to remove what git does not need any more")
	}
	// A release takes more memory than the agent needs until the next one.
	debug.FreeOSMemory()
	return compacted{}
}

func (a *Agent) prepare(ctx context.Context, commit string) event {
	if err := a.Releases.Prepare(commit); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to keep files of earlier releases", "commit", commit)
	}
	return assetsPrepared{commit}
}

// publish serves a release. One with the same content, which only the name of its commit tells apart, is replaced.
func (a *Agent) publish(ctx context.Context, commit string) published {
	before := a.Releases.Current()
	err := a.Releases.Switch(commit, a.Clock.Now())
	if a.Releases.Current() != commit {
		klog.FromContext(ctx).Error(err, "Failed to publish a commit, which is tried again", "commit", commit)
		return published{err: err}
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to keep files of earlier releases", "commit", commit)
	}
	klog.FromContext(ctx).Info("Published", "commit", commit)
	result := published{commit: commit, about: a.Releases.About(commit)}
	if before != "" && slices.Contains(result.about.Replaced, before) {
		result.replaced = before
	}
	return result
}

// collect removes releases that are not to be kept, or for which there is no room.
func (a *Agent) collect(ctx context.Context, c collect) event {
	before := a.list(ctx)
	err := a.Releases.Discard(c.discard)
	if c.only != nil {
		err = errors.Join(err, a.Releases.Retain(c.only))
	} else {
		err = errors.Join(err, a.Releases.Collect(c.pinned))
	}
	if err != nil {
		// The site is served all the same.
		klog.FromContext(ctx).Error(err, "Failed to remove earlier releases")
	}
	return collected{slices.DeleteFunc(before, a.Releases.Has)}
}

func (a *Agent) list(ctx context.Context) []string {
	releases, err := a.Releases.List()
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to list the releases")
	}
	return releases
}

// listBranches lists the branches that may have previews.
func (a *Agent) listBranches(ctx context.Context, previews requests.Previews) event {
	found, err := a.branches.Branches(ctx, func(branch string) bool {
		return branches.IsValid(branch) && branches.Match(previews.Branches, branch)
	})
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Failed to list the branches for previews, which is tried again")
	}
	if !previews.Head {
		found.Head = ""
	}
	return branchesListed{found, err}
}
