package agent

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

const (
	// maxHold is how long releases are held for other replicas: one, and those of later
	// commits that take its place, together.
	maxHold = 3 * time.Second
	// holderGrace is how long after the end of the last request that asks to hold releases
	// they are still held: a client that replaces its request ends the first one before.
	holderGrace = 2 * time.Second
)

// hold holds a release back until all replicas have it, if there is a controller that will
// say so, and for MaxHold at most. The first release is not held: there is none to serve
// meanwhile. If git-sync fetches another commit in that time, hold returns that as soon as its
// release is made: it takes the place of the one that is held, because another replica may
// never have had that.
func (a *Agent) hold(ctx context.Context, commit string) (later string) {
	end, remaining := a.beginHold(commit)
	if remaining <= 0 {
		return ""
	}
	over, tick := a.Clock.NewTimer(remaining), a.Clock.NewTicker(linkInterval)
	defer over.Stop()
	defer tick.Stop()

	// A release that takes too long to make, or cannot be made, does not delay this one.
	makeCtx, cancel := context.WithCancel(ctx)
	making, made := "", make(chan error, 1)
	defer func() {
		cancel()
		if making != "" {
			<-made
		}
	}()
	refused := a.refused
	for {
		select {
		case <-end:
			return ""
		case <-ctx.Done():
			return ""
		case <-over.C():
			klog.FromContext(ctx).Info("Not all replicas have prepared the commit in time", "commit", commit)
			return ""
		case <-a.wake:
			if pin := a.pinned(); pin != "" && pin != commit {
				a.dropHold()
				return pin
			}
		case <-tick.C():
			a.advanceSync(ctx)
			fetched, worktree := a.fetched()
			pin := a.pinned()
			if pin != "" && pin != commit {
				a.dropHold()
				return pin
			}
			switch {
			case pin != "":
				// What is fetched meanwhile is not served.
			case making != "" || fetched == "" || fetched == commit || fetched == refused:
			case fetched == a.Releases.Current():
				a.dropHold()
				return fetched
			default:
				making = fetched
				go func() { made <- a.makeRelease(makeCtx, fetched, a.GitSync.Root, worktree) }()
			}
		case err := <-made:
			if err == nil {
				later, making = making, ""
				return later
			}
			// It is tried again, and reported, once this release is served.
			refused, making = making, ""
		}
	}
}

// beginHold notes that a release is held, and returns what ends that and for how long it is.
func (a *Agent) beginHold(commit string) (end <-chan struct{}, remaining time.Duration) {
	now := a.Clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	isHeld := a.waiting.holders > 0 || now.Sub(a.waiting.heldUntil) < holderGrace
	if !isHeld || a.status.Commit == "" {
		return nil, 0
	}
	if a.waiting.holdUntil.IsZero() {
		a.waiting.holdUntil = now.Add(a.MaxHold)
	}
	if remaining = a.waiting.holdUntil.Sub(now); remaining <= 0 {
		return nil, 0
	}
	a.waiting.end = make(chan struct{})
	a.status.Prepared = commit
	a.moved()
	return a.waiting.end, remaining
}

// endHold ends the hold of a commit, if it is held.
func (a *Agent) endHold(commit string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting.end != nil && a.status.Prepared == commit {
		close(a.waiting.end)
		a.waiting.end = nil
	}
}

// dropHold notes that nothing is held any more, and that what is served stays.
func (a *Agent) dropHold() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clearHold()
	a.moved()
}

// clearHold forgets what is held. The caller holds the lock.
func (a *Agent) clearHold() {
	a.status.Prepared, a.waiting.end, a.waiting.holdUntil = "", nil, time.Time{}
}

// published notes that a commit is served, for which a hash was fetched.
func (a *Agent) published(commit, source string) {
	now := a.Clock.Now().UTC()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clearHold()
	a.source, a.expects = source, false
	a.status.Commit, a.status.PublishedAt = commit, &now
	about := a.Releases.About(commit)
	a.status.Subject, a.status.Author = about.Subject, about.Author
	a.moved()
}
