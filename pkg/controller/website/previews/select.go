// Package previews selects the branches of a repository that have a preview, and maintains a Website
// for each of them.
package previews

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/branches"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

const (
	// maxReported is the maximum number of branches in a status.
	maxReported = 100
	// confirmation is the time for which a preview has to be too old before it is removed: the clock of the
	// node can be ahead for a moment, and then every preview is too old.
	confirmation = time.Minute
)

// branchState is the input of a selection.
type branchState struct {
	// Website has spec.previews, and in its status the last report.
	Website *v1beta1.Website
	// Held are the branches that have a preview.
	Held []string
	// Listed are the branches of the repository, or nil if they are not known.
	Listed *workload.Branches
	// TooOld is from the previous selection. It and Now have the monotonic time of this process,
	// which does not change with the clock.
	TooOld map[string]time.Time
	Now    time.Time
}

// selection is the result of a selection.
type selection struct {
	// Branches should have a preview. They are sorted by name.
	Branches []string
	// Reported is the new list in the status: the selected branches, and those that are too old.
	Reported []v1beta1.WebsitePreviewStatus
	// Omitted is the number of other matching branches: they exceed spec.previews.maxCount, or a
	// selected branch has the same name.
	Omitted int
	// Next is the time until the next preview gets too old, or has been for long enough, or zero.
	Next time.Duration
	// TooOld maps the branches with a preview that are too old to the time since when.
	TooOld map[string]time.Time
	// Reasons maps the other known branches to the reason, for an event, why they are not selected.
	Reasons map[string]string
}

// newSelection selects the branches. Branches of unknown state are kept, and do not get too old. A
// selected branch stays selected.
func newSelection(in *branchState) *selection {
	s := &selection{TooOld: map[string]time.Time{}, Reasons: map[string]string{}}
	own := ownBranch(in)
	var kept, added, old []v1beta1.WebsitePreviewStatus
	for _, branch := range in.candidates() {
		presence, commit := in.find(branch)
		entry, isHeld := in.observed(branch, commit), slices.Contains(in.Held, branch)
		left, ages := in.left(&entry)
		isTooOld := presence == listed && ages && left <= 0
		switch {
		case presence == gone:
			s.Reasons[branch] = "its branch is gone"
		case branch == own:
			s.Reasons[branch] = fmt.Sprintf("the Website itself publishes branch %q", branch)
		case !branches.Match(in.Website.Spec.Previews.Branches, branch):
			s.Reasons[branch] = fmt.Sprintf("branch %q does not match spec.previews.branches", branch)
		case isTooOld && !(isHeld && s.awaits(in, branch)), presence == unknown && !isHeld:
			s.Reasons[branch] = fmt.Sprintf("branch %q has had no commit for %d seconds", branch,
				ptr.Deref(in.Website.Spec.Previews.TTLSeconds, 0))
			entry.WebsiteName = ""
			old = append(old, entry)
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
			s.Reasons[entry.Branch] = fmt.Sprintf("spec.previews.maxCount is %d", in.Website.Spec.Previews.MaxCount)
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

// awaits reports whether a branch with a preview has to stay too old for some time before the preview
// is removed.
func (s *selection) awaits(in *branchState, branch string) bool {
	since, known := in.TooOld[branch]
	if !known {
		since = in.Now
	}
	s.TooOld[branch] = since
	wait := confirmation - in.Now.Sub(since)
	s.due(wait)
	return wait > 0
}

// due schedules the next selection, unless an earlier one is scheduled.
func (s *selection) due(in time.Duration) {
	if in > 0 && (s.Next == 0 || in < s.Next) {
		s.Next = in
	}
}

// ownBranch returns the branch that the Website itself follows, or "".
func ownBranch(in *branchState) string {
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

// candidates returns all listed, reported and held branches, sorted by name.
func (in *branchState) candidates() []string {
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

// presence states whether a branch is in the repository.
type presence int

const (
	unknown presence = iota
	gone
	listed
)

// find returns whether a branch is in the repository, with its last commit.
func (in *branchState) find(branch string) (presence, string) {
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

// observed returns the status entry of a branch. Its last commit may be unknown.
func (in *branchState) observed(branch, commit string) v1beta1.WebsitePreviewStatus {
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

// left returns the time until a branch is too old. It reports false if it never is.
func (in *branchState) left(entry *v1beta1.WebsitePreviewStatus) (time.Duration, bool) {
	ttl := in.Website.Spec.Previews.TTLSeconds
	if ttl == nil || entry.LastCommitTime.IsZero() {
		return 0, false
	}
	return entry.LastCommitTime.Add(time.Duration(*ttl) * time.Second).Sub(in.Now), true
}
