package agent

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
)

// advanceJob begins the next job of git, or ends one that is not needed any more.
func (s *state) advanceJob(now time.Time) []action {
	missing := s.missing()
	isDue := missing != "" && !now.Before(s.pin.retry)
	switch {
	case s.job.canceled:
		return nil
	case s.job.pinned && s.job.ref != missing, isDue && s.job.kind != jobNone && s.job.ref != missing:
		s.job.canceled = true
		return []action{cancelJob{}}
	case s.job.kind != jobNone && !s.givesWay() || s.publishing:
		return nil
	case isDue:
		s.job = job{kind: jobFetch, ref: missing, pinned: true}
		return []action{fetch{missing}}
	}
	due, limit := s.fetchDue()
	switch isFetchDue := !due.IsZero() && !now.Before(due); {
	case isFetchDue && s.givesWay():
		s.job.canceled, s.gaveWay = true, true
		return []action{cancelJob{}}
	case !isFetchDue:
		return s.advanceCompaction()
	}
	if limit != nil {
		*limit = limit.take(now)
	}
	s.job, s.syncing.begun = job{kind: jobFetch, ref: s.ref, expected: s.expected}, s.syncing.id != ""
	return []action{fetch{s.ref}}
}

// advanceCompaction has git remove objects once nothing else is to be done.
func (s *state) advanceCompaction() []action {
	if !s.compacts || s.isUnpublished() || s.job.kind != jobNone {
		return nil
	}
	s.compacts, s.job = false, job{kind: jobCompact}
	return []action{compact{}}
}

// givesWay reports whether git removes objects, and does that later for a requested fetch. It does so once: it would
// never end if each fetch interrupted it.
func (s *state) givesWay() bool {
	isRequested := s.syncing.id != "" && !s.syncing.begun || s.expected != ""
	return s.job.kind == jobCompact && !s.job.canceled && !s.gaveWay && isRequested
}

// endJob returns the job that has ended. A sync whose fetch was canceled needs another one.
func (s *state) endJob() job {
	ended := s.job
	s.job = job{}
	if ended.kind == jobCompact {
		s.compacts, s.gaveWay = s.compacts || ended.canceled, s.gaveWay && ended.canceled
	}
	if ended.canceled && !s.syncing.ended {
		s.syncing.begun = false
	}
	return ended
}

// fetched handles the end of a fetch. Its commit becomes a release, unless there is one.
func (s *state) fetched(e fetched, now time.Time) []action {
	ended := s.endJob()
	if ended.canceled {
		return nil
	}
	s.fetchTime += e.took
	if s.expected == ended.expected || s.expected == e.commit {
		s.expected = ""
	}
	if e.err != nil {
		s.failedFetches++
		return s.fail(ended, e.err, now)
	}
	s.fetches++
	if !ended.pinned {
		s.newest, s.contact = e.commit, now
	}
	if s.has(e.commit) || s.isPinned() && e.commit == s.dropped {
		s.succeed(ended, now)
		return nil
	}
	s.job = job{kind: jobRelease, ref: ended.ref, commit: e.commit, pinned: ended.pinned}
	return []action{makeRelease{e.commit}}
}

// releaseMade handles the end of making a release. A spare release takes the place of the last spare one.
func (s *state) releaseMade(e releaseMade, now time.Time) []action {
	ended := s.endJob()
	s.compacts = true
	if e.err == nil && !s.has(ended.commit) {
		s.releases = append(slices.Clone(s.releases), ended.commit)
	}
	switch {
	case ended.canceled:
		return nil
	case e.err != nil:
		return s.fail(ended, e.err, now)
	}
	s.succeed(ended, now)
	if ended.pinned || !s.isPinned() || s.publishing {
		return nil
	}
	discard := s.spare
	if s.needs(discard) {
		discard = ""
	}
	s.spare, s.publishing = ended.commit, true
	return []action{collect{discard: discard, pinned: s.pin.Commit}}
}

func (s *state) succeed(ended job, now time.Time) {
	if ended.pinned {
		s.pin.failing = failing{}
		return
	}
	s.following, s.nextFetch, s.syncing.ended = failing{}, time.Time{}, s.syncing.begun
	if s.period > 0 && !s.isFixed() {
		s.nextFetch = now.Add(s.period)
	}
}

// fail handles the failure of a fetch, or of its release. Releases give way to a commit that does not fit.
func (s *state) fail(ended job, err error, now time.Time) []action {
	reason, text := explain(err)
	needed := slices.DeleteFunc(slices.Clone(s.releases), func(commit string) bool { return !s.needs(commit) })
	if needsRoom(err) && !s.publishing && len(needed) < len(s.releases) {
		s.publishing, s.spare = true, ""
		s.syncing.begun = s.syncing.ended
		if !ended.pinned {
			s.nextFetch = now
		}
		return []action{collect{only: needed}}
	}
	if ended.pinned {
		backoff := min(max(2*s.pin.backoff, firstBackoff), maxPinBackoff)
		if isFinal(reason) {
			backoff = maxPinBackoff
		}
		s.pin.failing = failing{s.pin.failure.next(reason, now, text), now.Add(backoff), backoff}
		return nil
	}
	s.syncing.ended = s.syncing.begun
	// Without the path, the server has answered all the same, and the next push may have it.
	isAnswer := reason == git.ReasonPathNotFound
	if isAnswer {
		s.contact = now
	}
	isSeldom := isAnswer || ended.kind == jobFetch && s.current != ""
	first, most := firstBackoff, maxBackoff
	if s.period > 0 && (s.period < first || isSeldom) {
		first, most = s.period, max(maxBackoff, s.period)
	}
	backoff := min(max(2*s.following.backoff, first), most)
	if isAnswer {
		backoff = first
	}
	s.following = failing{s.following.failure.next(reason, now, text), now.Add(backoff), backoff}
	if s.nextFetch = s.following.retry; s.period == 0 && isSeldom {
		s.nextFetch = time.Time{}
	}
	return nil
}

// needsRoom reports whether a failure could be mended by removing releases.
func needsRoom(err error) bool {
	var failed *git.Error
	if !errors.As(err, &failed) {
		return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	}
	return failed.Reason == git.ReasonStorageFull || failed.Reason == git.ReasonTooLarge && !failed.TooMany
}

// isFinal reports whether the next fetch of a commit is likely to fail for the same reason.
func isFinal(reason git.Reason) bool {
	return slices.Contains([]git.Reason{
		git.ReasonPathNotFound, git.ReasonTooLarge, git.ReasonCommitRefused, git.ReasonRefNotFound, git.ReasonCommitInvalid,
	}, reason)
}

// explain returns the reason of an error, and the output of git.
func explain(err error) (reason git.Reason, text string) {
	var failed *git.Error
	switch {
	case errors.As(err, &failed) && failed.Submodule != "":
		return failed.Reason, strings.Join([]string{failed.Submodule, string(failed.Cause), failed.Text}, ": ")
	case failed != nil:
		return failed.Reason, failed.Text
	case errors.Is(err, release.ErrPathNotFound):
		return git.ReasonPathNotFound, ""
	case errors.Is(err, release.ErrTooLarge):
		return git.ReasonTooLarge, err.Error()
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return git.ReasonStorageFull, ""
	default:
		return git.ReasonUnknown, ""
	}
}
