package website

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/observer"
)

// toldByPods are the reasons that only pods can tell, when they are asked.
var toldByPods = sets.New(
	v1beta1.WebsiteReasonPathNotFound,
	v1beta1.WebsiteReasonRefNotFound,
	v1beta1.WebsiteReasonRepositoryUnreachable,
	v1beta1.WebsiteReasonRepositoryNotFound,
	v1beta1.WebsiteReasonAuthenticationFailed,
	v1beta1.WebsiteReasonSyncFailing,
	v1beta1.WebsiteReasonRepositoryTooLarge,
)

// remembered returns what a condition says that pods have told, while they are
// silent: a controller that has just started has not asked them yet, and that does
// not mean that the problem is over.
func (v *view) remembered(kind string, silent bool) *cause {
	known := v.previousCondition(kind)
	if !silent || known == nil || known.ObservedGeneration != v.site.Generation || !toldByPods.Has(known.Reason) {
		return nil
	}
	return &cause{known.Reason, known.Message}
}

// undecided reports whether a pod that could say what it serves has not said so
// often enough to judge by: it has not been asked, or fetches for the first time
// as far as anybody has seen. Either is over soon.
func (p *observedPod) undecided() bool {
	if !observer.CanAnswer(p.Pod) {
		return false
	}
	return !p.observed || p.Reachable && p.FollowingUnknown && p.Commit == "" && !p.PathNotFound && p.Failure == observer.FailureNone
}

// anyUndecided reports whether there is such a pod.
func (v *view) anyUndecided() bool {
	return v.observing && slices.ContainsFunc(v.pods, func(pod observedPod) bool { return pod.undecided() })
}

// anyStartsInSilence reports whether a pod that does not serve yet does not say
// why, be it because it cannot be reached.
func (v *view) anyStartsInSilence() bool {
	return v.observing && slices.ContainsFunc(v.pods, func(pod observedPod) bool {
		return !pod.ready && (pod.undecided() || observer.CanAnswer(pod.Pod) && !pod.Reachable)
	})
}
