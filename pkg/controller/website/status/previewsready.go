package status

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// Previews is the observed state of the previews of a Website.
type Previews struct {
	// Suspended is true while the previews are not reconciled.
	Suspended bool
	// Reported is the status of the branches.
	Reported []v1beta1.WebsitePreviewStatus
	// Listed is true if the branches are known, and ListFailure is the reason why they could not be
	// listed.
	Listed      bool
	ListFailure git.Reason
	// Omitted is the number of matching branches without a preview.
	Omitted int
	// Next is the time until the next preview is too old, or zero.
	Next time.Duration
	// Problem is the reason why a preview could not be written, or nil.
	Problem *problem.Problem
}

func (in *Input) previews() []v1beta1.WebsitePreviewStatus {
	if in.Previews == nil {
		return nil
	}
	return in.Previews.Reported
}

func (in *Input) hasPreviews() bool { return in.Previews != nil }

var (
	previewsSuspended = only(func(in *Input) bool { return in.Previews.Suspended },
		report(v1beta1.WebsiteReasonSuspended, "spec.suspend is true: no previews are created, changed or removed"))

	previewsNotObserved = report(v1beta1.WebsiteReasonNotObserved,
		"the branches are not known: website-controller runs with --commit-observation=None")

	previewsCurrent = report(v1beta1.WebsiteReasonPreviewsCurrent, "all branches that match have a preview")
)

// previewProblem returns a finding if a preview cannot be written. It ignores an error that the next
// try may resolve.
func previewProblem(in *Input) *finding {
	p := in.Previews.Problem
	if p == nil {
		return nil
	}
	if p.Reason != "" {
		return &finding{reason: p.Reason, message: p.Message}
	}
	if before := in.reported(v1beta1.WebsitePreviewsReady); before != nil {
		return &finding{unchanged: before}
	}
	return &finding{reason: v1beta1.WebsiteReasonReconcileError, message: p.Message}
}

func branchesUnlisted(in *Input) *finding {
	if in.Previews.Listed || in.Previews.ListFailure == "" {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonBranchListFailed,
		message: "the branches cannot be listed, so no previews are created or removed: " + explainFetch(in.Website,
			in.Previews.ListFailure).message}
}

// branchesUnknown returns a finding if no pod has reported the branches. The last report stays until
// all ready pods have been probed.
func branchesUnknown(in *Input) *finding {
	if in.Previews.Listed {
		return nil
	}
	before := in.reported(v1beta1.WebsitePreviewsReady)
	unprobed := slices.ContainsFunc(in.Pods, func(pod Pod) bool { return pod.Ready && !pod.Observed })
	if before != nil && before.ObservedGeneration == in.Website.Generation && unprobed {
		return &finding{unchanged: before}
	}
	return &finding{reason: v1beta1.WebsiteReasonBranchesUnknown,
		message: "no ready pod has reported the branches of the repository, so no previews are created or removed"}
}

func previewLimit(in *Input) *finding {
	if in.Previews.Omitted == 0 {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonPreviewLimitReached,
		message: fmt.Sprintf("%d more branches match and have no preview; raise spec.previews.maxCount, or delete branches",
			in.Previews.Omitted)}
}
