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
	// Since is when they were first listed as they are, or zero before that.
	Since time.Time
	// List is in the order of the names, and has only the first if More is true.
	List []Branch
	More bool
	// Head is the branch of the remote's HEAD, if that was asked for.
	Head string
	// Failure is why the last listing has failed, one of Failures, or empty. The list is then that of before.
	Failure git.Reason
}

// Branch is a branch and its last commit.
type Branch struct{ Name, Commit string }

// Equal reports whether nothing is different. Both may be nil.
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

// Knows reports whether it is known if there is a branch of this name that matches.
func (b *Branches) Knows(name string) bool {
	return !b.More || len(b.List) > 0 && name <= b.List[len(b.List)-1].Name
}
