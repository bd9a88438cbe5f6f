package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// commit is a commit by a letter.
func commit(letter string) string { return strings.Repeat(letter, 40) }

// world plays git, the releases and the clock for a state.
type world struct {
	t   *testing.T
	now time.Time
	state
	// tip is the commit of the reference, and fails are the errors of fetches, by reference, and of releases, by commit.
	tip   string
	fails map[string]error
	// hung has fetches of a reference never end on their own. busy is how long a release takes.
	hung map[string]bool
	busy time.Duration
	// compaction is how long git takes to remove objects, compactions how often it has.
	compaction  time.Duration
	compactions int
	// room is how many releases fit on the volume.
	room int

	queue []due
	job   int
	// fetches are the times and references of all fetches, served the commits that were served.
	fetchedAt []time.Duration
	refs      []string
	served    []string
	listings  int
}

// due is an event at a time. The events of a canceled job are dropped.
type due struct {
	at    time.Time
	event event
	job   int
}

const step = 10 * time.Millisecond

func newWorld(t *testing.T, tweaks ...func(*world)) *world {
	w := &world{
		t: t, now: time.Unix(1e9, 0), tip: commit("a"), fails: map[string]error{}, hung: map[string]bool{},
		busy: step, room: 5, compaction: step,
		state: state{ref: "refs/heads/main", period: time.Minute, maxHold: maxHold},
	}
	for _, tweak := range tweaks {
		tweak(w)
	}
	w.state.nextFetch = w.now
	w.take(timePassed{})
	return w
}

// take has an event change the state.
func (w *world) take(e event) {
	w.t.Helper()
	begin := w.state
	after, actions := next(w.state, e, w.now)
	w.state = after
	for _, a := range actions {
		w.play(a)
	}
	if deadline := w.deadline(); !deadline.IsZero() && !deadline.After(w.now) && len(actions) == 0 {
		w.t.Fatalf("after %#v the deadline has passed, and nothing is done\nfrom %+v\nto %+v", e, begin, w.state)
	}
}

// play runs an action, some time later.
func (w *world) play(a action) {
	later := func(after time.Duration, e event, job int) { w.queue = append(w.queue, due{w.now.Add(after), e, job}) }
	switch a := a.(type) {
	case fetch:
		w.job++
		w.fetchedAt, w.refs = append(w.fetchedAt, w.now.Sub(time.Unix(1e9, 0))), append(w.refs, a.ref)
		result := fetched{commit: w.tip, err: w.fails[a.ref], took: step}
		if requests.IsCommit(a.ref) {
			result.commit = a.ref
		}
		if !w.hung[a.ref] {
			later(step, result, w.job)
		}
	case makeRelease:
		w.job++
		later(w.busy, releaseMade{w.fails[a.commit]}, w.job)
	case compact:
		w.job++
		later(w.compaction, compacted{}, w.job)
	case cancelJob:
		w.job++
		later(step, fetched{err: errors.New("canceled")}, w.job)
	case prepare:
		later(0, assetsPrepared(a), 0)
	case publish:
		later(0, published{commit: a.commit, err: w.fails["publish"]}, 0)
		later(step, collect{discard: a.discard, pinned: a.pinned}, 0)
	case collect:
		later(step, a, 0)
	case listBranches:
		w.listings++
		later(step, branchesListed{err: w.fails["branches"]}, 0)
	}
}

// collected has the releases that a collection removes.
func (w *world) collected(c collect) collected {
	var left, removed []string
	for _, commit := range w.releases {
		switch {
		case commit == c.discard && commit != w.current, c.only != nil && !slices.Contains(c.only, commit),
			c.only == nil && len(left) >= w.room && commit != c.pinned && commit != w.current:
			removed = append(removed, commit)
		default:
			left = append(left, commit)
		}
	}
	return collected{removed: removed}
}

// run lets time pass.
func (w *world) run(d time.Duration) {
	w.t.Helper()
	end := w.now.Add(d)
	for {
		at, which := end.Add(1), -1
		if deadline := w.deadline(); !deadline.IsZero() && deadline.Before(at) {
			at = deadline
		}
		for i, queued := range w.queue {
			if !queued.at.After(at) && (which < 0 || queued.at.Before(w.queue[which].at)) {
				at, which = queued.at, i
			}
		}
		if at.After(end) {
			w.now = end
			return
		}
		if at.After(w.now) {
			w.now = at
		}
		if which < 0 {
			w.take(timePassed{})
			continue
		}
		queued := w.queue[which]
		w.queue = slices.Delete(w.queue, which, which+1)
		if queued.job != 0 && queued.job != w.job {
			continue
		}
		if _, ok := queued.event.(compacted); ok {
			w.compactions++
		}
		before := w.current
		if c, ok := queued.event.(collect); ok {
			w.take(w.collected(c))
		} else {
			w.take(queued.event)
		}
		if w.current != before {
			w.served = append(w.served, w.current)
		}
	}
}

// push has the reference lead to another commit.
func (w *world) push(letter string) { w.tip = commit(letter) }

func (w *world) pin(commit string) {
	w.take(pinRequested{Commit: commit, Generation: w.state.pin.Generation + 1})
}

// serves checks the served release.
func (w *world) serves(when, letter string) {
	w.t.Helper()
	want := ""
	if letter != "" {
		want = commit(letter)
	}
	if w.current != want {
		w.t.Errorf("%s: commit %.2s is served, want %.2s\n%s", when, w.current, want, w)
	}
}

func (w *world) String() string {
	return fmt.Sprintf("job %+v, newest %.2s, held %.2s, releases %.2s, pin %+v, following %+v, fetches at %v",
		w.state.job, w.newest, w.held, w.releases, w.state.pin, w.following, w.fetchedAt)
}

func gitError(reason git.Reason) error { return &git.Error{Reason: reason} }
