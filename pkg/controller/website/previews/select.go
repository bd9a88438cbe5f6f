// Package previews decides which branches of a repository have a preview, and has each of them have a Website.
package previews

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/branches"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

const (
	// maxReported is how many branches a status may have.
	maxReported = 100
	// confirmation is how long a preview has to be too old before it is removed: the clock of
	// the node can be ahead for a moment, and then every preview is too old.
	confirmation = time.Minute
)

// input is what the selection is made from.
type input struct {
	// Website has spec.previews, and in its status what was reported before.
	Website *v1beta1.Website
	// Held are the branches that have a preview.
	Held []string
	// Listed are the branches of the repository, or nil if they are not known.
	Listed *workload.Branches
	// TooOld is that of the selection before. It and Now have the monotonic time of this
	// process, which does not change with the clock.
	TooOld map[string]time.Time
	Now    time.Time
}

// selection is which branches have a preview.
type selection struct {
	// Branches are those that are to have one, in the order of their names.
	Branches []string
	// Reported is what is to be reported of them, and of those that are too old.
	Reported []v1beta1.WebsitePreviewStatus
	// Omitted is how many other branches match: there are spec.previews.maxCount without
	// them, or one of the same name.
	Omitted int
	// Next is when the next preview gets too old, or has been for long enough, or zero.
	Next time.Duration
	// TooOld is since when branches are too old that have a preview.
	TooOld map[string]time.Time
}

// newSelection selects the branches. One that is not known to be gone is not gone, and does not get
// too old. What is selected once is selected again.
func newSelection(in *input) *selection {
	s := &selection{TooOld: map[string]time.Time{}}
	own := ownBranch(in)
	var kept, added, old []v1beta1.WebsitePreviewStatus
	for _, branch := range in.candidates() {
		presence, commit := in.find(branch)
		if branch == own || presence == gone || !branches.Match(in.Website.Spec.Previews.Branches, branch) {
			continue
		}
		entry, isHeld := in.observed(branch, commit), slices.Contains(in.Held, branch)
		left, ages := in.left(&entry)
		isTooOld := presence == listed && ages && left <= 0
		switch {
		case isTooOld && !(isHeld && s.awaits(in, branch)), presence == unknown && !isHeld:
			entry.WebsiteName = ""
			old = append(old, entry)
			continue
		case isHeld:
			kept = append(kept, entry)
		default:
			added = append(added, entry)
		}
	}
	names := map[string]bool{}
	for _, entry := range append(kept, added...) {
		entry.WebsiteName = branches.PreviewName(in.Website.Name, entry.Branch)
		if len(s.Branches) >= int(in.Website.Spec.Previews.MaxCount) || names[entry.WebsiteName] {
			s.Omitted++
			continue
		}
		names[entry.WebsiteName] = true
		s.Branches, s.Reported = append(s.Branches, entry.Branch), append(s.Reported, entry)
		if left, ages := in.left(&entry); ages {
			s.due(left)
		}
	}
	s.Reported = append(s.Reported, old[:min(len(old), maxReported-len(s.Reported))]...)
	slices.Sort(s.Branches)
	slices.SortFunc(s.Reported, func(a, b v1beta1.WebsitePreviewStatus) int { return cmp.Compare(a.Branch, b.Branch) })
	return s
}

// awaits reports whether a branch that has a preview has to stay too old for some time before
// that is removed.
func (s *selection) awaits(in *input, branch string) bool {
	since, known := in.TooOld[branch]
	if !known {
		since = in.Now
	}
	s.TooOld[branch] = since
	wait := confirmation - in.Now.Sub(since)
	s.due(wait)
	return wait > 0
}

// due has the next selection be after some time, unless that is over.
func (s *selection) due(in time.Duration) {
	if in > 0 && (s.Next == 0 || in < s.Next) {
		s.Next = in
	}
}

// ownBranch returns the branch that the Website itself follows, or "".
func ownBranch(in *input) string {
	const prefix = "refs/heads/"
	ref := resources.Git(in.Website).Ref
	switch {
	case ref != nil && ref.Branch != "":
		return ref.Branch
	case ref != nil && strings.HasPrefix(ref.Name, prefix):
		return strings.TrimPrefix(ref.Name, prefix)
	case (ref == nil || *ref == v1beta1.GitReference{}) && in.Listed != nil:
		return in.Listed.Head
	default:
		return ""
	}
}

// candidates returns all branches of which something is known, in the order of their names.
func (in *input) candidates() []string {
	names := slices.Clone(in.Held)
	for _, entry := range in.Website.Status.Previews {
		names = append(names, entry.Branch)
	}
	if in.Listed != nil {
		for _, branch := range in.Listed.List {
			names = append(names, branch.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// presence is whether a branch is in the repository.
type presence int

const (
	unknown presence = iota
	gone
	listed
)

// find returns whether a branch is in the repository, with its last commit.
func (in *input) find(branch string) (presence, string) {
	if in.Listed == nil {
		return unknown, ""
	}
	if found, ok := in.Listed.Find(branch); ok {
		return listed, found.Commit
	}
	if !in.Listed.Knows(branch) {
		return unknown, ""
	}
	return gone, ""
}

// observed returns what is to be reported of a branch, whose last commit may be unknown.
func (in *input) observed(branch, commit string) v1beta1.WebsitePreviewStatus {
	entry := v1beta1.WebsitePreviewStatus{Branch: branch}
	for _, before := range in.Website.Status.Previews {
		if before.Branch == branch {
			entry = before
		}
	}
	if commit != "" && (entry.Commit != commit || entry.LastCommitTime.IsZero()) {
		entry.Commit, entry.LastCommitTime = commit, metav1.NewTime(in.Now.Truncate(time.Second))
	}
	return entry
}

// left returns how long it takes until a branch is too old. It reports false if it never is.
func (in *input) left(entry *v1beta1.WebsitePreviewStatus) (time.Duration, bool) {
	ttl := in.Website.Spec.Previews.TTLSeconds
	if ttl == nil || entry.LastCommitTime.IsZero() {
		return 0, false
	}
	return entry.LastCommitTime.Add(time.Duration(*ttl) * time.Second).Sub(in.Now), true
}
