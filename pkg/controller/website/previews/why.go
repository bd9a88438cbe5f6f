package previews

import (
	"fmt"

	"github.com/kubesites/website-apiserver/pkg/branches"
)

// why returns the reason, for an event, why a branch is not selected. The branch may be unknown.
func why(in *branchState, branch string) string {
	presence, commit := in.find(branch)
	entry := in.observed(branch, commit)
	left, ages := in.left(&entry)
	switch {
	case branch == "" || presence == gone:
		return "its branch is gone"
	case branch == ownBranch(in):
		return fmt.Sprintf("the Website itself publishes branch %q", branch)
	case !branches.Match(in.Website.Spec.Previews.Branches, branch):
		return fmt.Sprintf("branch %q does not match spec.previews.branches", branch)
	case ages && left <= 0:
		return fmt.Sprintf("branch %q has had no commit for %d seconds", branch, *in.Website.Spec.Previews.TTLSeconds)
	default:
		return fmt.Sprintf("spec.previews.maxCount is %d", in.Website.Spec.Previews.MaxCount)
	}
}
