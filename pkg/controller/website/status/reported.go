package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// probedReasons are the reasons that only probes can find.
var probedReasons = sets.New(
	v1beta1.WebsiteReasonAccessSecretInvalid,
).Union(conditionReasons(func(workload.Failure) bool { return true }))

// IsFetchProblem reports whether a reason is about a commit that could not be fetched or published.
func IsFetchProblem(reason string) bool { return probedReasons.Has(reason) }

// stillReported returns the last reported finding of a probe while the pods do not respond: a
// controller that has just started has not probed them yet, and the problem may still exist.
func (in *Input) stillReported(kind string, silent bool) *finding {
	before := in.reported(kind)
	if !silent || before == nil || before.ObservedGeneration != in.Website.Generation ||
		!probedReasons.Has(before.Reason) {
		return nil
	}
	stalled := in.reported(v1beta1.WebsiteStalled)
	return &finding{reason: before.Reason, message: before.Message, transient: stalled == nil ||
		stalled.Reason != before.Reason}
}

// undecided reports whether the probes of a pod have not shown enough: there was none yet, or the
// first known fetch of the pod is in progress. Both end soon.
func (p *Pod) undecided() bool {
	if !workload.CanAnswer(p.Pod) {
		return false
	}
	return !p.Observed || p.Reachable && p.FollowingUnknown && p.Commit == "" && !p.PathNotFound && p.Failure == ""
}

// anyUndecided reports whether a pod is undecided.
func (in *Input) anyUndecided() bool {
	return in.Probing && slices.ContainsFunc(in.Pods, func(pod Pod) bool { return pod.undecided() })
}

// anyStartsInSilence reports whether a pod that does not serve yet has not reported a reason, or is
// unreachable.
func (in *Input) anyStartsInSilence() bool {
	return in.Probing && slices.ContainsFunc(in.Pods, func(pod Pod) bool {
		return !pod.Ready && (pod.undecided() || workload.CanAnswer(pod.Pod) && !pod.Reachable)
	})
}
