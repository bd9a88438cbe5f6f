package website

import (
	"cmp"

	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// pinSuspended pins a suspended Website to a commit, and removes that pin when it is resumed. Only the spec outlives
// the pods, the controller and the status. The pin has no field manager, so clients that do not set it keep it.
func pinSuspended(updated, previous *website.Website) {
	spec, former := &updated.Spec, previous.Spec.Pin
	if isPinnedBySuspend(spec) && isPinnedBySuspend(&previous.Spec) && spec.Pin.Commit != former.Commit {
		// A client that patches the commit cannot set the cause.
		spec.Pin = &v1beta1.WebsitePin{Commit: spec.Pin.Commit}
	}
	if !isSuspended(spec) {
		dropPinOfSuspend(spec)
		return
	}
	if spec.Pin != nil {
		return
	}
	commit := lastPublished(&previous.Status)
	if isSuspended(&previous.Spec) && former != nil {
		if commit == "" || former.Cause == v1beta1.PinCauseSuspend {
			commit = former.Commit
		}
	}
	if commit != "" {
		spec.Pin = &v1beta1.WebsitePin{Commit: commit, Cause: v1beta1.PinCauseSuspend}
	}
}

// dropPinOfSuspend removes the pin that suspending has made.
func dropPinOfSuspend(spec *v1beta1.WebsiteSpec) {
	if isPinnedBySuspend(spec) && !isSuspended(spec) {
		spec.Pin = nil
	}
}

func isSuspended(spec *v1beta1.WebsiteSpec) bool { return ptr.Deref(spec.Suspend, false) }

func isPinnedBySuspend(spec *v1beta1.WebsiteSpec) bool {
	return spec.Pin != nil && spec.Pin.Cause == v1beta1.PinCauseSuspend
}

// lastPublished returns the commit that all ready pods serve or, if there is none, have served last; empty before the
// first one.
func lastPublished(status *v1beta1.WebsiteStatus) string {
	last := ""
	if len(status.History) > 0 {
		last = status.History[0].Commit
	}
	return cmp.Or(status.Commit, last)
}
