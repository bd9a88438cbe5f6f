package status

import (
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// suspendedWithoutCommit returns a finding if a Website is suspended without a commit that its pods
// could serve.
func suspendedWithoutCommit(in *Input) *finding {
	if resources.PinOf(in.Website) != requests.PinCurrent {
		return nil
	}
	message := "spec.suspend is true, and no commit was published: nothing is; set it to false, or set spec.pin"
	if !in.Probing {
		message = "spec.suspend is true, and the commit of the pods is unknown: website-controller runs with " +
			"--commit-observation=None: new pods serve nothing; set spec.pin"
	}
	return &finding{reason: v1beta1.WebsiteReasonSuspendedWithoutCommit, message: message}
}

// suspension returns the progress of a suspension, or nil without one.
func suspension(in *Input) *finding {
	if !resources.IsSuspended(in.Website) {
		return nil
	}
	pin := resources.PinOf(in.Website)
	if commit, _ := commitOf(in.Pods); commit != "" && commit != pin {
		return &finding{reason: v1beta1.WebsiteReasonSuspending,
			message: "spec.suspend is true: the pods do not serve commit " + pin + " yet"}
	}
	return &finding{reason: v1beta1.WebsiteReasonSuspended,
		message: "spec.suspend is true: the pods serve commit " + pin + ", and no other is published"}
}
