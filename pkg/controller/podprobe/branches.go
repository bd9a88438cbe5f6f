package podprobe

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/branches"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// maxBranches limits the branches in an answer.
const maxBranches = 100

// branchesID is the form of an identifier of a list of branches.
var branchesID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// branchesOf returns the branches that an agent reports, without invalid ones.
func branchesOf(status *agent.BranchesStatus) *workload.Branches {
	if status == nil || !branchesID.MatchString(status.ID) {
		return nil
	}
	listed := &workload.Branches{ID: status.ID, More: status.More}
	if status.Since != nil {
		listed.Since = *status.Since
	}
	if branches.IsValid(status.Head) {
		listed.Head = status.Head
	}
	if status.Failure != nil {
		listed.Failure = workload.KnownReason(status.Failure.Reason)
	}
	for _, branch := range status.Branches {
		if branches.IsValid(branch.Name) && requests.IsCommit(branch.Commit) {
			listed.List = append(listed.List, workload.Branch{Name: branch.Name, Commit: branch.Commit})
		}
	}
	slices.SortFunc(listed.List, func(a, b workload.Branch) int { return cmp.Compare(a.Name, b.Name) })
	listed.List = slices.CompactFunc(listed.List, func(a, b workload.Branch) bool { return a.Name == b.Name })
	if len(listed.List) > maxBranches {
		listed.List, listed.More = slices.Clone(listed.List[:maxBranches]), true
	}
	return listed
}
