package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"k8s.io/klog/v2"
)

// posted is an event on its way to the loop.
type posted struct {
	event event
	// done is closed once the state has it.
	done chan<- struct{}
}

// revision identifies a state to clients.
type revision struct {
	// since distinguishes the revisions of two processes.
	since  int64
	number uint64
	// moved is the number with which a commit was last held or served.
	moved uint64
}

func (r revision) String() string { return fmt.Sprintf("%x.%d", r.since, r.number) }

// hasMoved reports whether a commit was held or served since another revision.
func (r revision) hasMoved(other string) bool {
	var known revision
	_, err := fmt.Sscanf(other, "%x.%d", &known.since, &known.number)
	return err != nil || known.since != r.since || r.moved > known.number
}

// loop handles events, one after the other, and starts the actions that follow, until ctx ends.
func (a *Agent) loop(ctx context.Context, first []event) {
	defer close(a.ended)
	for _, e := range append(first, timePassed{}) {
		a.take(ctx, e)
	}
	for ctx.Err() == nil {
		var passed <-chan time.Time
		stop := func() bool { return false }
		if deadline := a.state.deadline(); !deadline.IsZero() {
			timer := a.Clock.NewTimer(deadline.Sub(a.Clock.Now()))
			passed, stop = timer.C(), timer.Stop
		}
		select {
		case <-ctx.Done():
		case <-passed:
			a.take(ctx, timePassed{})
		case posted := <-a.events:
			a.take(ctx, posted.event)
			close(posted.done)
		}
		stop()
	}
}

// take has an event change the state.
func (a *Agent) take(ctx context.Context, e event) {
	before := a.state
	after, actions := next(before, e, a.Clock.Now())
	a.replaceState(after)
	if before.pin.Pin != after.pin.Pin {
		klog.FromContext(ctx).Info("The commit to serve has changed",
			"pin", after.pin.Commit, "generation", after.pin.Generation)
	}
	for _, next := range actions {
		a.start(ctx, next)
	}
}

// replaceState answers the requests that wait, if the state has news.
func (a *Agent) replaceState(after state) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.state
	a.state = after
	if reflect.DeepEqual(before.news(), after.news()) {
		return
	}
	a.revision.number++
	if before.current != after.current || before.held != after.held {
		a.revision.moved = a.revision.number
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

// post has the loop take an event, and returns when that has happened, or ctx or the loop has ended.
func (a *Agent) post(ctx context.Context, e event) {
	done := make(chan struct{})
	select {
	case a.events <- posted{e, done}:
	case <-ctx.Done():
		return
	case <-a.ended:
		return
	}
	<-done
}

// load reads the releases, the kept pin and the files. Nothing is published before.
func (a *Agent) load(ctx context.Context) ([]event, error) {
	releases, err := a.Releases.List()
	if err != nil {
		return nil, err
	}
	s := a.state
	s.releases, s.current = releases, a.Releases.Current()
	s.nextFetch = a.Clock.Now()
	if s.current != "" {
		s.about = a.Releases.About(s.current)
	}
	if s.isComplete() {
		s.newest = s.ref
	}
	kept, found, err := readFile(a.keptPinPath(), func(data []byte) (kept keptPin, err error) {
		err = json.Unmarshal(data, &kept)
		return kept, err
	})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to restore what was to be served before")
	} else if found {
		s.pin.Pin, s.pin.file, s.pin.known, s.pin.since = kept.Pin, kept.File, true, s.nextFetch
	}
	// Requests are answered already.
	a.replaceState(s)
	return a.changes(ctx), nil
}

// now returns the state, its revision, and a channel that is closed when the revision changes.
func (a *Agent) now() (state, revision, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state, a.revision, a.changed
}

// Status returns the current status.
func (a *Agent) Status() Status {
	s, r, _ := a.now()
	status := s.status(a.Clock.Now())
	status.Revision, status.Path = r.String(), a.Releases.Published
	status.Counts.RefusedRequests = a.refusals.count.Load()
	return status
}
