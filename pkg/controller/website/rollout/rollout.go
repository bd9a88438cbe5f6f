// Package rollout limits how many Deployments replace their pods at the same time for
// another reason than a change of their Website: a new version of the controller changes
// the pod template of every Website, and each new pod clones a repository.
package rollout

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// The reasons that the Deployment controller gives for its condition Progressing.
const (
	reasonComplete = "NewReplicaSetAvailable"
	reasonOverdue  = "ProgressDeadlineExceeded"
)

// written are the reasons of the condition Progressing of a Website whose children were written as
// its spec requires.
var written = sets.New(
	v1beta1.WebsiteReasonRolloutComplete,
	v1beta1.WebsiteReasonRolloutInProgress,
	v1beta1.WebsiteReasonRolloutPending,
	v1beta1.WebsiteReasonDeploymentPaused,
	v1beta1.WebsiteReasonProgressDeadlineExceeded,
)

// RequestedByUser reports whether the pod template of a Deployment is about to change because the
// Website has changed since the last reconciliation.
func RequestedByUser(website *v1beta1.Website, deployment *cached.Deployment) bool {
	if website.Status.ObservedGeneration != website.Generation {
		return true
	}
	// An earlier attempt to write the change may have failed. Then the status has this generation,
	// but the Deployment does not.
	reported := meta.FindStatusCondition(website.Status.Conditions, v1beta1.WebsiteProgressing)
	return deployment.WebsiteGeneration != website.Generation && (reported == nil || !written.Has(reported.Reason) ||
		isBeingDeleted(reported))
}

// isBeingDeleted reports whether the condition Progressing says that a child could not be written because it was being
// deleted. While pods are replaced it has the same reason, and is True.
func isBeingDeleted(progressing *metav1.Condition) bool {
	return progressing.Reason == v1beta1.WebsiteReasonRolloutInProgress && progressing.Status == metav1.ConditionFalse
}

// InProgress reports whether a Deployment is replacing its pods in a limited rollout.
// One that has exceeded its progress deadline, or is paused, does not count: it may never
// end. There need not be a Deployment.
func InProgress(deployment *cached.Deployment) bool {
	if deployment == nil || !deployment.LimitedRollout || deployment.Paused ||
		deployment.Replicas == 0 {
		return false
	}
	status := &deployment.Status
	if status.ObservedGeneration < deployment.Generation {
		return true
	}
	switch {
	case status.Progressing == corev1.ConditionFalse && status.ProgressingReason == reasonOverdue:
		return false
	case status.ProgressingReason == reasonComplete:
		// A rollout stays complete when pods are lost later. A rollback to an earlier revision begins
		// with the reason of that revision, and with outdated pods.
		return status.UpdatedReplicas != status.Replicas
	default:
		return true
	}
}
