package podprobe

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
	"github.com/kubesites/website-apiserver/pkg/branches"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// maxBranches is how many branches are taken from an answer.
const maxBranches = 100

// branchesID is the form of an identifier of what was listed.
var branchesID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// branchesOf returns what an agent says of branches, without those that cannot be any.
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
		listed.Failure = workload.FailureUnknown
		if known, ok := failures[status.Failure.Reason]; ok {
			listed.Failure = known
		}
	}
	valid := slices.DeleteFunc(slices.Clone(status.Branches), func(branch gitsync.Branch) bool {
		return !branches.IsValid(branch.Name) || !resources.IsCommit(branch.Commit)
	})
	slices.SortFunc(valid, func(a, b gitsync.Branch) int { return cmp.Compare(a.Name, b.Name) })
	valid = slices.CompactFunc(valid, func(a, b gitsync.Branch) bool { return a.Name == b.Name })
	if len(valid) > maxBranches {
		valid, listed.More = valid[:maxBranches], true
	}
	for _, branch := range valid {
		listed.List = append(listed.List, workload.Branch{Name: branch.Name, Commit: branch.Commit})
	}
	return listed
}
