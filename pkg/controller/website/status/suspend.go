package status

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// KeptCommit returns the commit that a suspended Website stays on, or nothing. The
// record of it is the Deployment: it outlives the pods, the controller and the
// status. Once the status says of this very spec that the website is suspended, the
// Deployment is held to that, as all of its fields are to what they should be. When
// the Deployment is gone as well, or has no pods, the status decides. As long as
// pods differ or have not been probed, the website keeps following its repository
// until it is known where to stop: the status may be about a commit that is long
// past. With probing disabled, that pods have not been probed means nothing, and they
// serve what is pinned.
func KeptCommit(in *Input) string {
	if !resources.IsSuspended(in.Website) {
		return ""
	}
	reported := in.Website.Status.Commit
	synced := meta.FindStatusCondition(in.Website.Status.Conditions, v1beta1.WebsiteSynced)
	if synced != nil && synced.Reason == v1beta1.WebsiteReasonSuspended && synced.ObservedGeneration == in.Website.Generation &&
		resources.IsCommit(reported) {
		return reported
	}
	if in.Deployment == nil {
		return reported
	}
	if commit := workload.CommitOf(&in.Deployment.Spec.Template.Spec); commit != "" && !isOfTheSource(in, commit) {
		return commit
	}
	if commit, state := commitOf(in.Pods); in.Probing && state != commitNone {
		return commit
	}
	if !in.Probing && in.Website.Spec.Pin != nil {
		return in.Website.Spec.PinnedCommit()
	}
	return reported
}

// isOfTheSource reports whether the commit of a Deployment is that of the source, and records nothing: its pods may
// serve another one, that is pinned, or because that of the source cannot be fetched.
func isOfTheSource(in *Input, commit string) bool {
	ref := resources.Git(in.Website).Ref
	return (in.Probing || in.Website.Spec.Pin != nil) && ref != nil && ref.Commit == commit
}

// suspension finds how far a Website is suspended, or nothing when it is not.
func suspension(in *Input) *finding {
	commit, _ := commitOf(in.Pods)
	kept := KeptCommit(in)
	switch {
	case !resources.IsSuspended(in.Website):
		return nil
	case kept == "" && !in.Probing:
		return &finding{reason: v1beta1.WebsiteReasonNotObserved,
			message: "spec.suspend is true, and the pods follow the repository: their commit is not known, as website-controller runs with --commit-observation=None; set spec.pin"}
	case kept == "":
		return &finding{reason: v1beta1.WebsiteReasonSuspending, message: "spec.suspend is true: the pods follow the repository until all serve one commit"}
	case commit != "" && commit != kept:
		return &finding{reason: v1beta1.WebsiteReasonSuspending, message: "spec.suspend is true: the pods are being replaced by pods that stay on commit " + kept}
	default:
		return &finding{reason: v1beta1.WebsiteReasonSuspended, message: "spec.suspend is true: the pods stay on commit " + kept + " and do not follow the repository"}
	}
}
