package agent

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	// maxWaiting is how many requests may wait for something new at a time, of those with and
	// of those without a signature. Others are answered at once, so that requests that wait
	// never take all connections.
	maxWaiting = 4
	// maxWait is how long a request may wait.
	maxWait = time.Minute
	// minAskInterval is the average interval of syncs of the same cause, at least, and
	// maxAsks how many of them there may be at once: commits can be pushed while replicas
	// fetch those before.
	minAskInterval = 5 * time.Second
	maxAsks        = 3
)

// waiting are the requests that wait for something new. The lock of the agent guards it.
type waiting struct {
	// since distinguishes the revisions of this process from those of another.
	since  int64
	number uint64
	// moved is the number with which a commit was last held or served.
	moved uint64
	// changed is closed when there is something new.
	changed chan struct{}
	// all are the requests that wait, signed those that ask for something, and holders those
	// that ask to hold releases.
	all, signed, holders int
	// heldUntil is when the last request ended that asked to hold releases.
	heldUntil time.Time
	// end is closed to end the hold of a commit, and holdUntil is when it ends by itself, or
	// zero while none is held.
	end       chan struct{}
	holdUntil time.Time
}

// newAskLimiter limits the syncs of a cause.
func newAskLimiter() *rate.Limiter { return rate.NewLimiter(rate.Every(minAskInterval), maxAsks) }

// revision names what is known. The caller holds the lock.
func (a *Agent) revision() string { return fmt.Sprintf("%x.%d", a.waiting.since, a.waiting.number) }

// changed answers the requests that wait. The caller holds the lock.
func (a *Agent) changed() {
	a.waiting.number++
	close(a.waiting.changed)
	a.waiting.changed = make(chan struct{})
}

// moved answers the requests that wait, because a commit is held or served. The caller holds
// the lock.
func (a *Agent) moved() {
	a.changed()
	a.waiting.moved = a.waiting.number
}

// hasMoved reports whether a commit was held or served since a revision. The caller holds the
// lock.
func (a *Agent) hasMoved(revision string) bool {
	var since int64
	var number uint64
	_, err := fmt.Sscanf(revision, "%x.%d", &since, &number)
	return err != nil || since != a.waiting.since || a.waiting.moved > number
}

// heed does what the parameters of a request ask for, and returns how long it is to wait.
func (a *Agent) heed(ctx context.Context, parameters url.Values) time.Duration {
	if commit := parameters.Get(requests.ParameterExpect); requests.IsCommit(commit) {
		a.expect(ctx, commit)
	}
	if commit := parameters.Get(requests.ParameterRelease); commit != "" {
		a.endHold(commit)
	}
	if id := parameters.Get(requests.ParameterSync); requests.IsSyncID(id) {
		a.requestSync(ctx, id)
	}
	if pin, ok := pinOf(parameters); ok {
		a.requestPin(ctx, pin)
	}
	wait, err := time.ParseDuration(parameters.Get(requests.ParameterWait))
	if err != nil {
		return 0
	}
	return min(wait, maxWait)
}

// pinOf returns what is to be served according to a request, if that says so.
func pinOf(parameters url.Values) (requests.Pin, bool) {
	generation, err := strconv.ParseInt(parameters.Get(requests.ParameterGeneration), 10, 64)
	commit := parameters.Get(requests.ParameterPin)
	isValid := err == nil && parameters.Has(requests.ParameterPin) && requests.IsPin(commit)
	return requests.Pin{Commit: commit, Generation: generation}, isValid
}

// expect has git-sync sync at once, for a commit that another replica has.
func (a *Agent) expect(ctx context.Context, commit string) {
	a.mu.Lock()
	// git-sync does not follow a pinned commit.
	a.expects = a.expects || commit != a.status.Commit && commit != a.status.Prepared && commit != a.pin.Commit
	a.mu.Unlock()
	a.syncExpected(ctx)
}

// syncExpected has git-sync sync if another replica has a commit that this one has not, as
// soon as it may.
func (a *Agent) syncExpected(ctx context.Context) {
	now := a.Clock.Now()
	a.mu.Lock()
	// The fetch that was requested may bring it.
	due := a.expects && a.syncing.id == "" && a.asks.AllowN(now, 1)
	if due {
		a.expects = false
	}
	a.mu.Unlock()
	if !due {
		return
	}
	if _, err := a.GitSync.SyncNow(); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to have git-sync sync at once")
	}
}

// await waits until what a request is for has happened, the time is over, or the client has
// gone.
func (a *Agent) await(ctx context.Context, parameters url.Values, wait time.Duration) {
	signed, hold := requests.NeedsSignature(parameters), parameters.Has(requests.ParameterHold)
	a.mu.Lock()
	if a.waiting.ofKind(signed) >= maxWaiting {
		a.mu.Unlock()
		return
	}
	a.waiting.count(1, signed, hold)
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.waiting.count(-1, signed, hold)
		if hold {
			a.waiting.heldUntil = a.Clock.Now()
		}
	}()
	over := a.Clock.NewTimer(wait)
	defer over.Stop()
	for ctx.Err() == nil && !a.hasNews(parameters) {
		changed := a.waiting.changed
		a.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		case <-over.C():
			return
		}
		a.mu.Lock()
	}
	a.mu.Unlock()
}

// hasNews reports whether what a request waits for has happened. The caller holds the lock.
func (a *Agent) hasNews(parameters url.Values) bool {
	if commit := parameters.Get(requests.ParameterExpect); commit != "" {
		return a.status.Commit == commit || a.status.Prepared == commit || a.hasMoved(parameters.Get(requests.ParameterAfter))
	}
	if commit := parameters.Get(requests.ParameterRelease); commit != "" {
		return a.status.Prepared != commit
	}
	if id := parameters.Get(requests.ParameterSync); id != "" {
		return a.syncing.id != id || a.status.Prepared != "" && a.hasMoved(parameters.Get(requests.ParameterAfter))
	}
	if pin, ok := pinOf(parameters); ok {
		return a.hasPinned(pin.Commit)
	}
	return a.revision() != parameters.Get(requests.ParameterAfter)
}

// hasPinned reports whether what is to be served according to a request is, or is held, or
// cannot be, or is something else by now. The caller holds the lock.
func (a *Agent) hasPinned(commit string) bool {
	if a.pin.Commit != commit || a.pin.failure != nil || commit == requests.PinCurrent {
		return true
	}
	if commit == "" {
		if commit = a.status.Newest; commit == "" || a.unpublished != nil || !a.pathNotFoundSince.IsZero() {
			return true
		}
	}
	return a.status.Commit == commit || a.status.Prepared == commit
}

// ofKind returns how many requests wait that are signed, or those that are not.
func (w *waiting) ofKind(signed bool) int {
	if signed {
		return w.signed
	}
	return w.all - w.signed
}

func (w *waiting) count(change int, signed, hold bool) {
	w.all += change
	if signed {
		w.signed += change
	}
	if hold {
		w.holders += change
	}
}
