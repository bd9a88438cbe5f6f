package agent

import (
	"slices"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// event is something that has happened: one of the following types.
type event any

type (
	// timePassed is the end of a deadline.
	timePassed struct{}
	// syncRequested is a request to fetch now, by its identifier.
	syncRequested string
	// commitExpected is a commit that another replica has, commitReleased one that all replicas have.
	commitExpected string
	commitReleased string
	// holderCame and holderLeft are the begin and the end of a request to hold releases.
	holderCame struct{}
	holderLeft struct{}
	// pinRequested is a requested pin, pinRead the one of the file.
	pinRequested requests.Pin
	pinRead      requests.Pin
	// previewsRead has the patterns of the branches to list, or nil, and an identifier of them.
	previewsRead struct {
		previews *requests.Previews
		id       string
	}
	// accessChecked has the reason why visitors are rejected.
	accessChecked access.Problem

	// fetched is the end of a fetch.
	fetched struct {
		commit string
		took   time.Duration
		err    error
	}
	// releaseMade is the end of making a release.
	releaseMade struct{ err error }
	compacted   struct{}
	// assetsPrepared is the end of prepare, published the end of a switch to another release.
	assetsPrepared struct{ commit string }
	published      struct {
		commit string
		about  release.About
		// replaced is the commit of before if it has the same content.
		replaced string
		err      error
	}
	// collected are the releases that were removed.
	collected struct{ removed []string }
	// siteLost is that nothing is served any more, with the releases that are left.
	siteLost       struct{ releases []string }
	branchesListed struct {
		branches git.Branches
		err      error
	}
)

// action is something to be done: one of the following types. Each but cancelJob and keepPin ends with an event;
// publish ends with published, and then collected.
type action any

type (
	// fetch fetches a reference or a commit.
	fetch struct{ ref string }
	// makeRelease makes the release of the last fetched tree.
	makeRelease struct{ commit string }
	compact     struct{}
	// cancelJob ends the current one of the actions above.
	cancelJob struct{}
	// prepare puts the assets of a release in place.
	prepare struct{ commit string }
	// publish serves a release, and collects others, the discarded one first.
	publish struct{ commit, discard, pinned string }
	// collect removes the discarded release, and then all others but some, or those that there is no room for.
	collect struct {
		discard, pinned string
		only            []string
	}
	listBranches struct{ requests.Previews }
	// keepPin keeps the pin for a restart.
	keepPin struct{ pin, file requests.Pin }
)

// next returns the state after an event, and the actions that follow.
func next(s state, e event, now time.Time) (state, []action) {
	var actions []action
	switch e := e.(type) {
	case syncRequested:
		if id := string(e); id != s.syncing.id && id != s.synced {
			s.syncing = syncing{id: id}
		}
	case commitExpected:
		if commit := string(e); commit != s.newest && !s.needs(commit) && !s.isComplete() {
			s.expected = commit
		}
	case commitReleased:
		s.released = s.released || s.held == string(e)
	case holderCame:
		s.holders++
	case holderLeft:
		s.holders, s.heldUntil = s.holders-1, now
	case pinRequested:
		pin := requests.Pin(e)
		if !s.pin.known || pin.Generation >= s.pin.Generation || now.Sub(s.pin.since) >= pinMemory {
			actions = s.setPin(pin, now)
		}
	case pinRead:
		actions = s.readPin(requests.Pin(e), now)
	case previewsRead:
		s.listing = s.listing.wants(e)
	case accessChecked:
		s.access = access.Problem(e)
	case fetched:
		actions = s.fetched(e, now)
	case releaseMade:
		actions = s.releaseMade(e, now)
	case compacted:
		s.endJob()
	case assetsPrepared:
		s.publishing, s.prepared = false, e.commit
	case published:
		s.published(e, now)
	case collected:
		s.publishing, s.releases = false, without(s.releases, e.removed...)
		if s.spare != "" && !s.has(s.spare) {
			s.spare, s.dropped = "", s.spare
		}
	case siteLost:
		s.lose(e, now)
	case branchesListed:
		s.listing = s.listing.listed(e, now)
	}
	actions = append(actions, s.advancePublication(now)...)
	actions = append(actions, s.advanceJob(now)...)
	actions = append(actions, s.advanceListing(now)...)
	s.answerSync()
	return s, actions
}

// readPin handles a change of the file. It can be older than a request. A generation before the one of an earlier file
// is of a store that was restored.
func (s *state) readPin(pin requests.Pin, now time.Time) []action {
	before := s.pin.file
	if s.pin.known && pin == before {
		return nil
	}
	s.pin.file = pin
	if !s.pin.known || pin.Generation >= s.pin.Generation || pin.Generation < before.Generation {
		return s.setPin(pin, now)
	}
	return nil
}

// setPin has another commit served.
func (s *state) setPin(pin requests.Pin, now time.Time) []action {
	if s.pin.known && pin == s.pin.Pin {
		return nil
	}
	if pin.Commit != s.pin.Commit {
		// Failures of the former pin do not count.
		s.pin.failing, s.unpublished, s.publishAfter, s.dropped = failing{}, nil, time.Time{}, ""
		if pin.Commit == "" && (s.following.failure != nil || s.newest != "" && !s.has(s.newest)) {
			s.nextFetch = now
		}
	}
	s.pin.Pin, s.pin.known, s.pin.since = pin, true, now
	return []action{keepPin{s.pin.Pin, s.pin.file}}
}

// answerSync ends a request to fetch whose commit is served, or will not be.
func (s *state) answerSync() {
	isEnded := s.syncing.ended || s.isComplete()
	if s.syncing.id != "" && isEnded && (!s.isUnpublished() || s.unpublished != nil) {
		s.synced, s.syncing = s.syncing.id, syncing{}
	}
}

// lose handles the removal of the site by another process. The remaining releases are published again, or the commit is
// fetched.
func (s *state) lose(e siteLost, now time.Time) {
	if s.publishing || s.job.kind == jobRelease {
		return
	}
	s.current, s.releases, s.prepared, s.nextFetch = "", e.releases, "", now
}

// without returns the commits of a list but some.
func without(commits []string, removed ...string) []string {
	return slices.DeleteFunc(slices.Clone(commits), func(commit string) bool { return slices.Contains(removed, commit) })
}
