package podprobe

import (
	"time"

	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// state is what the probes of a pod have shown.
type state struct {
	workload.Observation
	// known is false until there is something to say.
	known bool
	// failures counts the probes in a row that failed.
	failures int
	// ended is true once the pod has. The failures are then those to find out
	// why.
	ended bool
	// silent counts the probes in a row in which git-sync did not answer.
	silent    int
	counts    *syncCounts
	following following
	first     time.Time
	logRead   time.Time
}

// update takes in the answer to a probe, or its error, and reports whether the
// log of git-sync is to be read now.
func (s *state) update(answer workload.Observation, counts *syncCounts, err error, now time.Time) (readLog bool) {
	if s.first.IsZero() {
		s.first = now
	}
	if err != nil {
		if s.failures++; s.failures >= unreachableAfter {
			s.Reachable, s.known = false, true
		}
		return false
	}
	before := s.Observation
	s.failures, s.known = 0, true
	s.Observation = workload.Observation{Reachable: true, Commit: answer.Commit, PathNotFound: answer.PathNotFound, Failure: before.Failure}
	if s.silent++; counts != nil {
		s.silent = 0
		s.following = counts.follow(s.counts, s.following)
		s.counts = counts
	}
	failing := false
	switch {
	case s.following == followingYes:
		s.Failure = workload.FailureNone
	case s.following == followingNo:
		failing = true
	case answer.Commit == "" && now.Sub(s.first) >= graceForFirstFetch:
		failing = true
	case answer.Commit != before.Commit:
		s.Failure = workload.FailureNone // It was fetched, though git-sync does not say so.
	}
	s.FollowingUnknown = s.following == followingUnknown || failing && s.Failure == workload.FailureNone
	s.SyncUnreachable = s.silent >= unreachableAfter
	if failing && now.Sub(s.logRead) >= logPeriod {
		s.logRead = now
		return true
	}
	s.fail(workload.FailureUnknown)
	return false
}

// unsettled reports whether something is not right or not known yet. A git-sync
// that did not answer once is probed again soon; one that never does need not be.
func (s *state) unsettled() bool {
	return !s.Reachable || s.Commit == "" || s.PathNotFound || s.Failure != workload.FailureNone || s.silent > 0 && !s.SyncUnreachable
}

// fail notes why fetching fails. A known cause is not replaced by an unknown one.
func (s *state) fail(why workload.Failure) {
	switch {
	case why != workload.FailureUnknown:
		s.Failure = why
	case s.following == followingNo && s.Failure == workload.FailureNone:
		s.Failure = why // Without that it may only be slow.
	}
	s.FollowingUnknown = s.following == followingUnknown
}
