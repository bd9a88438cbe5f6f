package status

import (
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// ReportsSpec reports whether all ready pods serve the spec, and the written status has their commit: until then, the
// spec is the cause of their release.
func ReportsSpec(in *Input) bool {
	commit, _ := commitOf(in.Pods)
	written := in.Website.Status
	return servesSpec(in) && written.Commit == commit && len(written.History) > 0 && written.History[0].Commit == commit
}

// servesSpec reports whether all ready pods serve the spec, once the Deployment is up to date.
func servesSpec(in *Input) bool {
	commit, state := commitOf(in.Pods)
	pin := resources.PinOf(in.Website)
	if !in.rolledOut() || state != commitAgreed || requests.IsCommit(pin) && commit != pin {
		return false
	}
	for _, pod := range in.Pods {
		if pod.Ready && (pod.Pin != pin || pin == "" && pod.Newest != "" && pod.Newest != commit) {
			return false
		}
	}
	return true
}

// pinned returns a finding if all ready pods serve the commit in the spec. Then it does not matter
// whether they can fetch another one.
func pinned(in *Input) *finding {
	pin := resources.PinOf(in.Website)
	commit, state := commitOf(in.Pods)
	if resources.IsSuspended(in.Website) || pin == "" || state != commitAgreed || commit != pin {
		return nil
	}
	message := "all ready pods serve the commit of spec.pin"
	if newest := in.newestCommit(); newest != "" && newest != commit {
		message += "; spec.source.git.ref leads to commit " + newest
	}
	return &finding{reason: v1beta1.WebsiteReasonPinned, message: message}
}

// pinPending returns a finding if the pods do not serve the commit of spec.pin yet.
func pinPending(in *Input) *finding {
	pin := resources.PinOf(in.Website)
	commit, state := commitOf(in.Pods)
	if resources.IsSuspended(in.Website) || pin == "" || state != commitAgreed || commit == pin {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonCommitsDiffer,
		message: "the ready pods serve another commit than spec.pin, which is being fetched"}
}
