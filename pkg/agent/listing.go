package agent

import (
	"slices"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// minListRetry and maxListRetry limit the delay after branches could not be listed, while nothing is fetched either.
const minListRetry, maxListRetry = 10 * time.Second, 15 * time.Minute

// BranchesStatus has the branches that match the patterns of previews.
type BranchesStatus struct {
	// ID identifies the repository and the patterns.
	ID string `json:"id"`
	// Since is the time of the first list with these branches, or nil before that.
	Since *time.Time `json:"since,omitempty"`
	// Branches are in the order of their names, and only the first if More is true.
	Branches []git.Branch `json:"branches,omitempty"`
	More     bool         `json:"more,omitempty"`
	// Head is the branch of the remote's HEAD, if that was asked for.
	Head string `json:"head,omitempty"`
	// Failure is the failure of the last listing, or nil. Then the branches of the last successful one are kept.
	Failure *Failure `json:"failure,omitempty"`
}

// listing is the state of the list of branches that may have previews.
type listing struct {
	// previews are the patterns, or nil if nothing is to be listed. id identifies them and the repository.
	previews *requests.Previews
	id       string
	running  bool
	// listedID identifies the last list, which began at a time, and after a fetch. failures counts failed lists in a
	// row.
	listedID    string
	at, contact time.Time
	failures    int
	// status is nil before the first list.
	status *BranchesStatus
}

// wants sets the patterns.
func (l listing) wants(e previewsRead) listing {
	if l.previews, l.id = e.previews, e.id; l.previews == nil {
		return listing{running: l.running}
	}
	return l
}

// due is when to list the branches: after a fetch, or in its place. It is zero if they are not to be, or are being,
// listed.
func (l listing) due(contact time.Time, period, backoff time.Duration) time.Time {
	retry := min(minListRetry<<min(max(l.failures-1, 0), 10), maxListRetry)
	switch {
	case l.previews == nil || l.running:
		return time.Time{}
	case l.id != l.listedID:
		return l.at.Add(time.Nanosecond)
	case !contact.Equal(l.contact):
		return l.at.Add(fetchInterval)
	case l.failures > 0:
		return l.at.Add(max(retry, backoff))
	case period > 0:
		// Longer than the time to the next fetch, which is followed by the next listing.
		return l.at.Add(max(period*3/2, backoff))
	default:
		return time.Time{}
	}
}

// advanceListing begins to list the branches if that is due.
func (s *state) advanceListing(now time.Time) []action {
	due := s.listing.due(s.contact, s.period, s.following.backoff)
	if due.IsZero() || now.Before(due) {
		return nil
	}
	s.listing.running, s.listing.listedID = true, s.listing.id
	s.listing.at, s.listing.contact = now, s.contact
	return []action{listBranches{*s.listing.previews}}
}

// listed handles the end of a list. A failed one keeps the branches of the last successful one.
func (l listing) listed(e branchesListed, now time.Time) listing {
	l.running = false
	if l.previews == nil || l.id != l.listedID {
		return l
	}
	now = now.UTC()
	status := BranchesStatus{ID: l.id}
	if l.status != nil && l.status.ID == l.id {
		status = *l.status
	}
	l.status = &status
	if e.err != nil {
		l.failures++
		reason, text := explain(e.err)
		status.Failure = status.Failure.next(reason, now, text)
		return l
	}
	l.failures, status.Failure = 0, nil
	isSame := status.Since != nil && slices.Equal(status.Branches, e.branches.List) &&
		status.More == e.branches.More && status.Head == e.branches.Head
	if !isSame {
		status.Since = &now
		status.Branches, status.More, status.Head = e.branches.List, e.branches.More, e.branches.Head
	}
	return l
}
