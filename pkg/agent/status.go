package agent

import (
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
)

// Status is the answer to /status.
type Status struct {
	// Revision changes with the rest, the time of the next sync aside. It is the "after" of
	// a request that waits for something new.
	Revision string `json:"revision"`
	// Commit is the commit that is served, or empty.
	Commit string `json:"commit"`
	// Subject is the first line of the message of Commit, and Author its author. Both are
	// what the repository says.
	Subject string `json:"subject,omitempty"`
	Author  string `json:"author,omitempty"`
	// PublishedAt is since when, if the agent has run since then.
	PublishedAt *time.Time `json:"publishedAt,omitempty"`
	// Prepared is a commit whose release is made and that is held until all replicas have
	// it, or for a few seconds.
	Prepared string `json:"prepared,omitempty"`
	// Newest is the commit that git-sync has fetched last. It is not served while another
	// one is pinned.
	Newest string `json:"newest,omitempty"`
	// Pin is what the agent is to serve, or nil while it does not know.
	Pin *PinStatus `json:"pin,omitempty"`
	// Synced identifies the last request to fetch whose fetch has ended, and of which nothing
	// is left to be published.
	Synced string `json:"synced,omitempty"`
	// Releases are the commits that are kept, the one that is served first.
	Releases []string `json:"releases"`
	// Path is the directory of the repository that is to be published. PathFound is true if
	// the last commit that was fetched has it; one that lacks it is not published.
	Path      string `json:"path"`
	PathFound bool   `json:"pathFound"`
	// LFSPointers is the number of files that are published as Git LFS has put them into the
	// repository: as pointers.
	LFSPointers int `json:"lfsPointers,omitempty"`
	// Access is why every request for the site is rejected: one of a fixed set of words.
	Access access.Problem `json:"access,omitempty"`
	// LastContact is when the repository has last been fetched, or was found unchanged.
	LastContact *time.Time `json:"lastContact,omitempty"`
	// NextSyncMilliseconds is how long it takes at least until the repository is contacted
	// again: not positive during a sync, and nil if it never is.
	NextSyncMilliseconds *int64 `json:"nextSyncMilliseconds,omitempty"`
	// Failure is why syncing or publishing fails, or nil.
	Failure *Failure `json:"failure,omitempty"`
	// Branches are those that may have previews, or nil if there are to be none.
	Branches *BranchesStatus `json:"branches,omitempty"`
	// Counts are of what has happened since the agent has started.
	Counts Counts `json:"counts"`
}

// PinStatus is what the agent is to serve.
type PinStatus struct {
	// Commit is the commit to serve, "current" for the one that is served now, or empty for
	// the last one that was fetched, and Generation that of the Website that says so.
	Commit     string `json:"commit,omitempty"`
	Generation int64  `json:"generation"`
	// Failure is why the commit cannot be served, or nil. It is that of the status as well.
	Failure *Failure `json:"failure,omitempty"`
}

// Failure is why syncing fails.
type Failure struct {
	// Reason is one of a fixed set of words.
	Reason gitsync.Reason `json:"reason"`
	// Text is what git has printed, without addresses, and not all of a long one.
	Text string `json:"text,omitempty"`
	// Since is when it has last failed.
	Since time.Time `json:"since"`
	// Count is how often in a row it has failed since the agent has started.
	Count int `json:"count"`
}

// Counts are of what has happened since the agent has started.
type Counts struct {
	// GitSyncRestarts is how often git-sync was started again after it had died, or had
	// done nothing for longer than a sync takes.
	GitSyncRestarts int `json:"gitSyncRestarts"`
	// EndedProcesses is how many processes that git had left behind were ended.
	EndedProcesses int `json:"endedProcesses"`
	// RefusedRequests is how many requests were refused that were not from the controller.
	RefusedRequests int `json:"refusedRequests"`
}

// next returns what is known of a failure after one of these, or after none.
func (f *Failure) next(reason gitsync.Reason, since time.Time, text string) *Failure {
	switch {
	case reason == gitsync.ReasonNone:
		return nil
	case f == nil:
		return &Failure{Reason: reason, Text: text, Since: since.UTC(), Count: 1}
	case f.Since.Equal(since):
		return f
	default:
		return &Failure{Reason: reason, Text: text, Since: since.UTC(), Count: f.Count + 1}
	}
}

// Status returns the current status.
func (a *Agent) Status() Status {
	counts, contact := a.GitSync.Counts(), a.GitSync.LastSuccess()
	a.mu.Lock()
	defer a.mu.Unlock()
	status := a.status
	if a.pin.known {
		status.Pin = &PinStatus{Commit: a.pin.Commit, Generation: a.pin.Generation, Failure: a.pin.failure}
	}
	pathFound := a.pathNotFoundSince.IsZero()
	status.PathFound = pathFound && status.Commit != ""
	if !pathFound && status.Failure == nil {
		status.Failure = &Failure{Reason: gitsync.ReasonPathNotFound, Since: a.pathNotFoundSince.UTC()}
	}
	if !contact.IsZero() {
		contact = contact.UTC()
		status.LastContact = &contact
	}
	if status.Failure == nil {
		status.Failure = a.unpublished
	}
	if overdue := a.GitSync.Overdue(); status.Failure == nil && !overdue.IsZero() {
		status.Failure = &Failure{Reason: gitsync.ReasonTimedOut, Since: overdue.UTC(), Count: 1}
	}
	if a.pin.failure != nil {
		// It is why what is served is not what the spec says.
		status.Failure = a.pin.failure
	}
	if next := a.GitSync.NextSync(); !next.IsZero() {
		milliseconds := next.Sub(a.Clock.Now()).Milliseconds()
		status.NextSyncMilliseconds = &milliseconds
	}
	status.Revision = a.revision()
	status.Counts = Counts{GitSyncRestarts: counts.Restarts, EndedProcesses: counts.EndedProcesses, RefusedRequests: a.refusals.total()}
	return status
}
