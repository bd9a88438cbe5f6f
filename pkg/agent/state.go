package agent

import (
	"slices"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	// firstBackoff is the delay after a failed fetch while none has succeeded, and after one of a pinned commit. It
	// doubles with each failure, up to maxPinBackoff, or up to maxBackoff or the period, whichever is longer.
	firstBackoff, maxBackoff, maxPinBackoff = 5 * time.Second, 5 * time.Minute, 10 * time.Minute
	// publishBackoff is the delay after a release could not be published.
	publishBackoff = 2 * time.Second
	// maxHold is the time for which releases are held for other replicas, counted from the first one: releases of
	// later commits, which replace it, do not prolong it.
	maxHold = 3 * time.Second
	// holderGrace is the time for which releases are held after the end of the last request that asked for that: a
	// client that replaces its request ends the former one first.
	holderGrace = 2 * time.Second
	// pinMemory is how long a request of an earlier generation than the pin's is taken for one that was overtaken: longer
	// than its signature holds. Then the store of the Website was restored to an older state.
	pinMemory = 2 * time.Minute
	// fetchInterval is the average interval of requested fetches, at least. fetchBurst of them may come at once.
	fetchInterval, fetchBurst = 5 * time.Second, 3
)

// state decides on the actions of the agent. Only next changes it, and writes to no slice or pointer in it.
type state struct {
	// ref is the reference to follow, and period the interval of its fetches; 0: it is fetched until a release of it is
	// served, and on request.
	ref     string
	period  time.Duration
	maxHold time.Duration

	// current is the commit that is served, since publishedAt if that was in this process. releases are the commits
	// with a release, that one first.
	current     string
	publishedAt time.Time
	releases    []string
	about       release.About
	access      access.Problem

	job job
	// newest is the last commit of the reference, contact the end of its last fetch.
	newest    string
	contact   time.Time
	nextFetch time.Time
	following failing
	// compacts is true when git's directory may have objects that are not needed.
	compacts bool
	// gaveWay is true after a fetch has interrupted the removal of objects, until it is complete.
	gaveWay bool

	pin pinning

	syncing syncing
	// synced is the last request to fetch that was answered, expected a commit that another replica has.
	synced, expected        string
	syncLimit, expectsLimit limit

	// publishing is true while an action changes the releases. publishAfter and unpublished are set after one
	// that has failed.
	publishing   bool
	publishAfter time.Time
	unpublished  *Failure
	// prepared is the commit whose assets are in place. held is the one whose release is held, until holdUntil at most,
	// or until it is released, as all replicas have it.
	prepared, held string
	holdUntil      time.Time
	released       bool
	// holders are the requests that ask to hold releases, heldUntil is when the last one has ended.
	holders   int
	heldUntil time.Time
	// spare is the commit with a release that is only made for the time after a pin, dropped the one that there was no
	// room for. replaced is the commit whose name the current release had before: requests that began then are still
	// answered from its directory.
	spare, dropped, replaced string

	listing listing

	fetches, failedFetches int
	fetchTime              time.Duration
}

// jobKind is the kind of a job of git.
type jobKind int

const (
	jobNone jobKind = iota
	jobFetch
	jobRelease
	jobCompact
)

// job is the current work of git. There is one job at a time.
type job struct {
	kind jobKind
	// ref is the fetched reference, commit the commit of the release. expected is the commit of another replica that
	// was expected when the job began.
	ref, commit, expected string
	// pinned is true for the pinned commit.
	pinned bool
	// canceled is true once the job is not needed any more. Its result is ignored.
	canceled bool
}

// failing is a series of failures.
type failing struct {
	failure *Failure
	// retry is the time of the next attempt, backoff the delay until then.
	retry   time.Time
	backoff time.Duration
}

// pinning is the state of the pin.
type pinning struct {
	requests.Pin
	// known is false until there is a file or a request. since is when the pin was set in this process.
	known bool
	since time.Time
	// file is the last content of the file.
	file requests.Pin
	failing
}

// syncing is a request to fetch now.
type syncing struct {
	id string
	// begun is true once a fetch has begun after the request, ended once that has ended, with its release.
	begun, ended bool
}

// limit is a token bucket of fetchBurst tokens. It has the time at which the bucket will be full.
type limit struct{ full time.Time }

// next is when there is a token.
func (l limit) next() time.Time { return l.full.Add(-(fetchBurst - 1) * fetchInterval) }

func (l limit) take(now time.Time) limit {
	if l.full.Before(now) {
		l.full = now
	}
	return limit{l.full.Add(fetchInterval)}
}

// isFixed reports whether the reference is a commit, which is fetched once.
func (s *state) isFixed() bool { return requests.IsCommit(s.ref) }

// isComplete reports whether there is nothing more to fetch of the reference.
func (s *state) isComplete() bool { return s.isFixed() && s.has(s.ref) }

func (s *state) has(commit string) bool { return commit != "" && slices.Contains(s.releases, commit) }

// isSyncing reports whether a fetch was requested that has not ended.
func (s *state) isSyncing() bool { return s.syncing.id != "" && !s.syncing.ended }

// needs reports whether the release of a commit must stay.
func (s *state) needs(commit string) bool {
	return commit == s.current || commit == s.pin.Commit || commit == s.held
}

// isPinned reports whether another commit than the newest one is to be served.
func (s *state) isPinned() bool { return s.pin.Commit != "" && s.pin.Commit != s.newest }

// missing is the pinned commit if it has to be fetched, or empty.
func (s *state) missing() string {
	if requests.IsCommit(s.pin.Commit) && !s.has(s.pin.Commit) {
		return s.pin.Commit
	}
	return ""
}

// target is the commit whose release is to be served, or empty if that is not to change.
func (s *state) target() string {
	switch {
	case s.pin.Commit == requests.PinCurrent || s.missing() != "":
		return ""
	case s.pin.Commit != "":
		return s.pin.Commit
	case s.has(s.newest):
		return s.newest
	default:
		// The release of a later commit is being made, or cannot be.
		return s.held
	}
}

// isUnpublished reports whether another release is to be served.
func (s *state) isUnpublished() bool {
	target := s.target()
	return target != "" && target != s.current
}

// fetchDue is the time of the next fetch of the reference, or zero, and the limit of the request for that, if it was
// requested.
func (s *state) fetchDue() (due time.Time, of *limit) {
	if s.isComplete() {
		return due, nil
	}
	due = s.nextFetch
	earlier := func(l *limit) {
		if next := l.next(); due.IsZero() || next.Before(due) {
			due, of = next, l
		}
	}
	if s.syncing.id != "" && !s.syncing.begun {
		earlier(&s.syncLimit)
	}
	if s.expected != "" && !s.isSyncing() {
		earlier(&s.expectsLimit)
	}
	return due, of
}

// deadline is the time at which the state changes without an event, or zero.
func (s *state) deadline() time.Time {
	var first time.Time
	at := func(condition bool, t time.Time) {
		if condition && !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if !s.publishing {
		due, _ := s.fetchDue()
		at(s.job.kind == jobNone || s.givesWay(), due)
		at(!s.job.pinned && !s.job.canceled && s.missing() != "", s.pin.retry)
		if s.publishAfter.After(s.holdUntil) {
			at(s.isUnpublished(), s.publishAfter)
		} else {
			at(s.held != "", s.holdUntil)
		}
	}
	at(true, s.listing.due(s.contact, s.period, s.following.backoff))
	return first
}
