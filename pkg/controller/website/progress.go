package website

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// isProgress reports whether all that is new in a status is how far a rollout has
// come: that it goes on was reported, of this very spec, and still nobody has to
// do anything but wait. Pods that start one after the other change the counts for
// as long as it takes, and each write is seen by everybody who watches Websites.
// A cause, and whatever else a condition says, is more than that.
func isProgress(before, after *v1beta1.WebsiteStatus) bool {
	if !isWaiting(before) || !isWaiting(after) {
		return false
	}
	reported, current := withoutProgress(before), withoutProgress(after)
	if reported.Commit == "" {
		current.Commit = "" // The first pods have fetched something.
	}
	return apiequality.Semantic.DeepEqual(reported, current)
}

// isWaiting reports whether a status says that a site is not ready and that
// nothing is known to be in its way.
func isWaiting(status *v1beta1.WebsiteStatus) bool {
	ready := meta.FindStatusCondition(status.Conditions, v1beta1.WebsiteReady)
	return ready != nil && ready.Status == metav1.ConditionFalse && isPassing(ready)
}

// isPassing reports whether a condition is one that changes by itself as pods
// start.
func isPassing(condition *metav1.Condition) bool {
	switch condition.Reason {
	case v1beta1.WebsiteReasonRolloutInProgress, v1beta1.WebsiteReasonMinimumReplicasUnavailable,
		v1beta1.WebsiteReasonNoReadyPods, v1beta1.WebsiteReasonObserving, v1beta1.WebsiteReasonCommitPublished:
		return true
	default:
		return false
	}
}

// withoutProgress returns what a status says besides how far a rollout has come.
func withoutProgress(status *v1beta1.WebsiteStatus) *v1beta1.WebsiteStatus {
	rest := status.DeepCopy()
	rest.Replicas, rest.UpdatedReplicas, rest.ReadyReplicas, rest.AvailableReplicas = 0, 0, 0, 0
	rest.Urls = nil // They name the nodes of ready pods.
	for i := range rest.Conditions {
		condition := &rest.Conditions[i]
		condition.LastTransitionTime = metav1.Time{}
		if isPassing(condition) {
			condition.Reason, condition.Message = "", ""
			if condition.Type == v1beta1.WebsiteSynced {
				*condition = metav1.Condition{Type: condition.Type}
			}
		}
	}
	return rest
}
