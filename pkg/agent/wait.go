package agent

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	// maxWaiting is the number of requests that may wait for something new at a time, of those with and
	// of those without a signature. Others are answered at once, so that requests that wait
	// never take all connections.
	maxWaiting = 4
	// maxWait is the longest wait of a request.
	maxWait = time.Minute
)

// postRequest passes a request on to the loop, and returns how long the request is to wait.
func (a *Agent) postRequest(ctx context.Context, parameters url.Values) time.Duration {
	if commit := parameters.Get(requests.ParameterExpect); requests.IsCommit(commit) {
		a.post(ctx, commitExpected(commit))
	}
	if commit := parameters.Get(requests.ParameterRelease); commit != "" {
		a.post(ctx, commitReleased(commit))
	}
	if id := parameters.Get(requests.ParameterSync); requests.IsSyncID(id) {
		a.post(ctx, syncRequested(id))
	}
	if pin, ok := pinOf(parameters); ok {
		a.post(ctx, pinRequested(pin))
	}
	wait, err := time.ParseDuration(parameters.Get(requests.ParameterWait))
	if err != nil {
		return 0
	}
	return min(wait, maxWait)
}

// pinOf returns the pin of a request, if it has one.
func pinOf(parameters url.Values) (requests.Pin, bool) {
	generation, err := strconv.ParseInt(parameters.Get(requests.ParameterGeneration), 10, 64)
	commit := parameters.Get(requests.ParameterPin)
	isValid := err == nil && parameters.Has(requests.ParameterPin) && requests.IsPin(commit)
	return requests.Pin{Commit: commit, Generation: generation}, isValid
}

// await waits until a request can be answered, the time is over, or the client has gone.
func (a *Agent) await(ctx context.Context, parameters url.Values, wait time.Duration) {
	waiting := a.waiting[requests.NeedsSignature(parameters)]
	select {
	case waiting <- struct{}{}:
		defer func() { <-waiting }()
	default:
		return
	}
	if parameters.Has(requests.ParameterHold) {
		// Both, or none, also if the client has gone.
		ctx := context.WithoutCancel(ctx)
		a.post(ctx, holderCame{})
		defer a.post(ctx, holderLeft{})
	}
	over := a.Clock.NewTimer(wait)
	defer over.Stop()
	for {
		s, r, changed := a.now()
		if s.answers(parameters, r) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		case <-over.C():
			return
		}
	}
}

// answers reports whether a request can be answered.
func (s *state) answers(parameters url.Values, r revision) bool {
	after := parameters.Get(requests.ParameterAfter)
	if commit := parameters.Get(requests.ParameterExpect); commit != "" {
		return s.current == commit || s.held == commit || r.hasMoved(after)
	}
	if commit := parameters.Get(requests.ParameterRelease); commit != "" {
		return s.held != commit
	}
	if id := parameters.Get(requests.ParameterSync); id != "" {
		return s.syncing.id != id || s.held != "" && r.hasMoved(after)
	}
	if pin, ok := pinOf(parameters); ok {
		return s.hasPinned(pin.Commit)
	}
	return r.String() != after
}

// hasPinned reports whether the requested commit is served or held, or cannot be, or another one is requested by now.
func (s *state) hasPinned(commit string) bool {
	failed := s.pin.failure != nil || s.unpublished != nil
	if s.pin.Commit != commit || failed || commit == requests.PinCurrent {
		return true
	}
	if commit == "" {
		if commit = s.newest; commit == "" || s.following.failure != nil && !s.has(commit) {
			return true
		}
	}
	return s.current == commit || s.held == commit
}
