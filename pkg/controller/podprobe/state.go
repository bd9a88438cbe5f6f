package podprobe

import (
	"time"

	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// state is the result of the probes of a pod.
type state struct {
	workload.Observation
	// probed is false before the first result.
	probed bool
	// failures counts the probes in a row that failed.
	failures int
	// silent counts the probes in a row in which the agent did not answer.
	silent int
	// unchanged counts the probes in a row with an unchanged result.
	unchanged int
	// revision, prepared and nextSync are from the last answer, see answer. nextSync is zero without
	// a next sync.
	revision, prepared string
	nextSync           time.Time
	// expected is the commit of another pod of the Website, for which this one was probed. The pod is
	// unhealthy until its own commit changes.
	expected string
}

// update records the answer to a probe, or its error.
func (s *state) update(a answer, err error, now time.Time) {
	s.revision, s.prepared, s.nextSync = a.revision, a.prepared, time.Time{}
	if a.syncs {
		s.nextSync = now.Add(a.nextSync)
	}
	if err != nil {
		if s.failures++; s.failures >= unreachableAfter {
			s.Reachable, s.probed = false, true
		}
		return
	}
	before, wasProbed := s.Observation, s.probed
	s.failures, s.probed = 0, true
	if a.Commit != before.Commit {
		s.expected = ""
	}
	if a.sync {
		s.silent, s.Observation = 0, a.Observation
		if s.Branches.Equal(before.Branches) {
			s.Branches = before.Branches
		}
		return
	}
	// The last sync state holds until the agent responds, or a new commit shows that it works.
	s.silent++
	s.Observation = before
	s.Reachable, s.Commit = true, a.Commit
	if a.Commit != before.Commit {
		s.Failure, s.FailedTwice, s.PathNotFound = "", false, false
	}
	s.FollowingUnknown = before.FollowingUnknown || !wasProbed
	s.SyncUnreachable = a.SyncUnreachable && s.silent >= unreachableAfter
}

// isUnhealthy reports whether a pod is not healthy or not known yet. A pod whose agent did not respond
// once is probed again soon; an agent that never responds needs no extra probes.
func (s *state) isUnhealthy() bool {
	return !s.Reachable || s.Commit == "" || s.PathNotFound || s.Access != workload.AccessOpen || s.Failure != "" ||
		s.expected != "" || s.silent > 0 && s.silent < unreachableAfter
}
