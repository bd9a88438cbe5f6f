package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

var previews = previewsRead{&requests.Previews{Branches: []string{"*"}}, "id"}

// TestListings: branches are listed after each fetch, or in its place.
func TestListings(t *testing.T) {
	for name, test := range map[string]struct {
		tweak func(*world)
		want  int
	}{
		// The first one is from before the first fetch.
		"after each fetch":    {func(*world) {}, 12},
		"nothing to list":     {func(w *world) { w.listing = listing{} }, 0},
		"without polling":     {func(w *world) { w.period = 0 }, 2},
		"a fixed commit":      {func(w *world) { w.ref = commit("a") }, 8},
		"a server that fails": {func(w *world) { w.fails["branches"] = gitError(git.ReasonUnreachable) }, 13},
		"and without fetches": {func(w *world) {
			w.ref, w.fails["branches"] = commit("a"), gitError(git.ReasonUnreachable)
		}, 6},
		"nothing works": {func(w *world) {
			w.fails[w.ref], w.fails["branches"] = gitError(git.ReasonUnreachable), gitError(git.ReasonUnreachable)
		}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) {
				w.listing = w.listing.wants(previews)
				test.tweak(w)
			})
			if w.run(10*time.Minute + 10*time.Second); w.listings != test.want {
				t.Errorf("listed %d times, want %d", w.listings, test.want)
			}
		})
	}
}

// TestFailedListingKeepsBranches: branches stay while they cannot be listed, and are news only when they change.
func TestFailedListingKeepsBranches(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := listing{}.wants(previews)
	l.listedID = l.id
	one := git.Branches{List: []git.Branch{{Name: "one", Commit: commit("a")}}}
	two := git.Branches{List: []git.Branch{{Name: "two", Commit: commit("b")}}, More: true}
	var since time.Time
	for i, step := range []struct {
		listed   branchesListed
		want     []git.Branch
		isNew    bool
		failures int
	}{
		{branchesListed{err: gitError(git.ReasonAuthentication)}, nil, false, 1},
		{branchesListed{branches: one}, one.List, true, 0},
		{branchesListed{branches: one}, one.List, false, 0},
		{branchesListed{err: gitError(git.ReasonAuthentication)}, one.List, false, 1},
		{branchesListed{err: gitError(git.ReasonUnreachable)}, one.List, false, 2},
		{branchesListed{branches: one}, one.List, false, 0},
		{branchesListed{branches: two}, two.List, true, 0},
	} {
		now = now.Add(time.Minute)
		l = l.listed(step.listed, now)
		status := l.status
		isNew := status.Since != nil && !status.Since.Equal(since)
		failures := 0
		if status.Failure != nil {
			failures = status.Failure.Count
		}
		if !slices.Equal(status.Branches, step.want) || isNew != step.isNew || failures != step.failures {
			t.Errorf("step %d: %+v, want the branches %v, new: %t, failures: %d", i, status, step.want,
				step.isNew, step.failures)
		}
		if status.Since != nil {
			since = *status.Since
		}
	}
	// Other patterns have another list.
	l = l.wants(previewsRead{&requests.Previews{}, "other"})
	l.listedID = l.id
	if l = l.listed(branchesListed{err: gitError(git.ReasonUnreachable)}, now); len(l.status.Branches) > 0 ||
		l.status.ID != "other" {
		t.Errorf("with other patterns: %+v", l.status)
	}
	if l = l.wants(previewsRead{}); l.status != nil {
		t.Errorf("without patterns: %+v", l.status)
	}
}
