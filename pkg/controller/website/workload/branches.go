package workload

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
)

// Branches are the branches that match the patterns of previews, as an agent has listed them.
type Branches struct {
	// ID identifies the repository and the patterns.
	ID string
	// Since is the time at which the current list was first observed, or zero if unknown.
	Since time.Time
	// List is sorted by name, and truncated if More is true.
	List []Branch
	More bool
	// Head is the branch of the remote's HEAD, if it was requested.
	Head string
	// Failure is the reason of the last failed listing, one of Failures, or empty. The previous list
	// is kept.
	Failure git.Reason
}

// Branch is a branch and its last commit.
type Branch struct{ Name, Commit string }

// Equal reports whether two lists are equal. Both may be nil.
func (b *Branches) Equal(other *Branches) bool {
	if b == nil || other == nil {
		return b == other
	}
	return b.ID == other.ID && b.Since.Equal(other.Since) && slices.Equal(b.List, other.List) && b.More == other.More &&
		b.Head == other.Head && b.Failure == other.Failure
}

// Find returns a branch. It reports false if it is not listed.
func (b *Branches) Find(name string) (Branch, bool) {
	at, found := slices.BinarySearchFunc(b.List, name,
		func(branch Branch, name string) int { return cmp.Compare(branch.Name, name) })
	if !found {
		return Branch{}, false
	}
	return b.List[at], true
}

// Knows reports whether the list shows if a branch of this name exists.
func (b *Branches) Knows(name string) bool {
	return !b.More || len(b.List) > 0 && name <= b.List[len(b.List)-1].Name
}
