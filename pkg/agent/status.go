package agent

import (
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
)

// never is longer than any pod runs.
const never = 100 * 365 * 24 * time.Hour

// Status is the answer to /status.
type Status struct {
	// Revision changes with the rest, the time of the next sync aside. It is the "after" of
	// a request that waits for something new.
	Revision string `json:"revision"`
	// Commit is the commit that is served, or empty.
	Commit string `json:"commit"`
	// Subject is the first line of the message of Commit, and Author its author. Both come
	// from the repository.
	Subject string `json:"subject,omitempty"`
	Author  string `json:"author,omitempty"`
	// Replaced are commits with the same content that were served before Commit, the last one first.
	Replaced []string `json:"replaced,omitempty"`
	// PublishedAt is since when, if the agent has run since then.
	PublishedAt *time.Time `json:"publishedAt,omitempty"`
	// Prepared is a commit whose release is made and that is held until all replicas have
	// it, or for a few seconds.
	Prepared string `json:"prepared,omitempty"`
	// Newest is the last commit of the reference. It is not served while another one is pinned.
	Newest string `json:"newest,omitempty"`
	// Pin is the pin, or nil while it is not known.
	Pin *PinStatus `json:"pin,omitempty"`
	// Synced identifies the last request to fetch whose fetch has ended, and whose commit, if
	// any, is published.
	Synced string `json:"synced,omitempty"`
	// Releases are the commits that are kept, the one that is served first.
	Releases []string `json:"releases"`
	// Path is the directory of the repository that is to be published. PathFound is true if
	// the last commit that was fetched has it; one that lacks it is not published.
	Path      string `json:"path"`
	PathFound bool   `json:"pathFound"`
	// Warnings are the problems of the release that is served.
	Warnings []release.Warning `json:"warnings,omitempty"`
	// Access is the reason for rejecting every request for the site: one of a fixed set of words.
	Access access.Problem `json:"access,omitempty"`
	// LastContact is the time of the last fetch, or of the last check without a change.
	LastContact *time.Time `json:"lastContact,omitempty"`
	// NextSyncMilliseconds is the least time until the repository is contacted
	// again: not positive during a sync, and nil if it never is.
	NextSyncMilliseconds *int64 `json:"nextSyncMilliseconds,omitempty"`
	// Failure is the failure of syncing or publishing, or nil.
	Failure *Failure `json:"failure,omitempty"`
	// Branches are those that may have previews, or nil if there are to be none.
	Branches *BranchesStatus `json:"branches,omitempty"`
	// Counts are counted since the start of the agent.
	Counts Counts `json:"counts"`
}

// PinStatus is the state of the pin.
type PinStatus struct {
	// Commit is the commit to serve, "current" for the one that is served now, or empty for
	// the last one that was fetched, and Generation the generation of the Website with this pin.
	Commit     string `json:"commit,omitempty"`
	Generation int64  `json:"generation"`
	// Failure is the reason why the commit cannot be served, or nil. The status has it as well.
	Failure *Failure `json:"failure,omitempty"`
}

// Failure is a failure to sync.
type Failure struct {
	// Reason is one of a fixed set of words.
	Reason git.Reason `json:"reason"`
	// Text is the end of the output of git, without addresses.
	Text string `json:"text,omitempty"`
	// Since is the time of the last failure.
	Since time.Time `json:"since"`
	// Count is the number of failures in a row since the start of the agent.
	Count int `json:"count"`
}

// Counts are counted since the start of the agent.
type Counts struct {
	// RefusedRequests is how many requests were refused that were not from the controller.
	RefusedRequests int64 `json:"refusedRequests"`
}

// next returns a failure with another one.
func (f *Failure) next(reason git.Reason, since time.Time, text string) *Failure {
	count := 1
	if f != nil {
		count += f.Count
	}
	return &Failure{Reason: reason, Text: text, Since: since.UTC(), Count: count}
}

// status returns the status at a time, without the fields that the Agent adds.
func (s *state) status(now time.Time) Status {
	status := Status{
		Commit: s.current, Subject: s.about.Subject, Author: s.about.Author, Replaced: s.about.Replaced,
		Prepared: s.held, Newest: s.newest,
		Synced: s.synced, Releases: s.releases, Warnings: s.about.Warnings, Access: s.access,
		Failure: s.following.failure, Branches: s.listing.status,
		PublishedAt: utc(s.publishedAt), LastContact: utc(s.contact),
	}
	lacksPath := s.following.failure != nil && s.following.failure.Reason == git.ReasonPathNotFound
	status.PathFound = s.current != "" && !lacksPath
	if s.pin.known {
		status.Pin = &PinStatus{Commit: s.pin.Commit, Generation: s.pin.Generation, Failure: s.pin.failure}
	}
	if status.Failure == nil {
		status.Failure = s.unpublished
	}
	if s.pin.failure != nil {
		// It explains why another commit than the one of the spec is served.
		status.Failure = s.pin.failure
	}
	if !s.isFixed() || !s.has(s.ref) {
		next := never.Milliseconds()
		switch {
		case s.job.kind != jobNone && s.job.kind != jobCompact && !s.job.pinned:
			next = 0
		case !s.nextFetch.IsZero():
			next = s.nextFetch.Sub(now).Milliseconds()
		}
		status.NextSyncMilliseconds = &next
	}
	return status
}

// news is the part of a status whose change is answered to requests that wait.
func (s *state) news() Status {
	status := s.status(time.Time{})
	status.NextSyncMilliseconds, status.Releases = nil, nil
	if failure := status.Failure; failure != nil && failure.Count > 2 && s.current == "" {
		// A first sync fails every few seconds: waiting requests are not answered for each failure.
		status.Failure = &Failure{Reason: failure.Reason}
	}
	return status
}

func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
