package resources

import (
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// IsSuspended reports whether nothing is published for a Website.
func IsSuspended(website *v1beta1.Website) bool {
	return ptr.Deref(website.Spec.Suspend, false)
}

// PinOf returns the commit that the agents of a Website should serve, requests.PinCurrent, or "" for
// the newest one.
//
// website-apiserver pins a Website that is suspended. There is no pin if nothing was published by
// then: pods that have published a commit meanwhile keep it.
func PinOf(website *v1beta1.Website) string {
	switch pin := website.Spec.PinnedCommit(); {
	case pin != "" || !IsSuspended(website):
		return pin
	case website.Status.Commit != "":
		return website.Status.Commit
	case len(website.Status.History) > 0:
		return website.Status.History[0].Commit
	default:
		return requests.PinCurrent
	}
}
