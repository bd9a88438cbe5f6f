package metrics

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// otherReason is counted in place of unknown reasons: clients that may write a status
// can set any reason.
const otherReason = "Other"

// conditionTypes are the conditions that are counted. Other clients may add conditions of their own.
var conditionTypes = sets.New(
	v1beta1.WebsiteReady,
	v1beta1.WebsiteAvailable,
	v1beta1.WebsiteProgressing,
	v1beta1.WebsiteSynced,
	v1beta1.WebsiteRouted,
	v1beta1.WebsitePreviewsReady,
	v1beta1.WebsiteReconciling,
	v1beta1.WebsiteStalled,
)

// reasons are the reasons of the conditions of a Website, apart from those of hosts and of fetches. They
// bound the number of series.
var reasons = sets.New(
	v1beta1.WebsiteReasonPending,
	v1beta1.WebsiteReasonServing,
	v1beta1.WebsiteReasonScaledToZero,
	v1beta1.WebsiteReasonRolloutInProgress,
	v1beta1.WebsiteReasonRolloutPending,
	v1beta1.WebsiteReasonRolloutComplete,
	v1beta1.WebsiteReasonProgressDeadlineExceeded,
	v1beta1.WebsiteReasonDeploymentPaused,
	v1beta1.WebsiteReasonMinimumReplicasAvailable,
	v1beta1.WebsiteReasonMinimumReplicasUnavailable,
	v1beta1.WebsiteReasonNameTaken,
	v1beta1.WebsiteReasonConflictingManager,
	v1beta1.WebsiteReasonLeftBehind,
	v1beta1.WebsiteReasonNodePortTaken,
	v1beta1.WebsiteReasonNodePortsExhausted,
	v1beta1.WebsiteReasonNoEndpoints,
	v1beta1.WebsiteReasonSpecInvalid,
	v1beta1.WebsiteReasonQuotaExceeded,
	v1beta1.WebsiteReasonAdmissionDenied,
	v1beta1.WebsiteReasonAccessDenied,
	v1beta1.WebsiteReasonReconcileError,
	v1beta1.WebsiteReasonImageUnavailable,
	v1beta1.WebsiteReasonUnschedulable,
	v1beta1.WebsiteReasonContainerConfigError,
	v1beta1.WebsiteReasonContainerFailing,
	v1beta1.WebsiteReasonPodNotStarting,
	v1beta1.WebsiteReasonPodCreationFailed,
	v1beta1.WebsiteReasonCommitPublished,
	v1beta1.WebsiteReasonPublishedWithWarnings,
	v1beta1.WebsiteReasonCommitsDiffer,
	v1beta1.WebsiteReasonPinned,
	v1beta1.WebsiteReasonRefElsewhere,
	v1beta1.WebsiteReasonSyncTimedOut,
	v1beta1.WebsiteReasonNotObserved,
	v1beta1.WebsiteReasonObserving,
	v1beta1.WebsiteReasonPodsUnreachable,
	v1beta1.WebsiteReasonNoReadyPods,
	v1beta1.WebsiteReasonSuspended,
	v1beta1.WebsiteReasonSuspendedWithoutCommit,
	v1beta1.WebsiteReasonSuspending,
	v1beta1.WebsiteReasonHostRouted,
	v1beta1.WebsiteReasonHostNotRequested,
	v1beta1.WebsiteReasonPreviewsCurrent,
	v1beta1.WebsiteReasonPreviewLimitReached,
	v1beta1.WebsiteReasonBranchesUnknown,
	v1beta1.WebsiteReasonBranchListFailed,
)

func boundedReason(reason string) string {
	if reasons.Has(reason) || status.IsFetchProblem(reason) || status.IsOfHosts(reason) {
		return reason
	}
	return otherReason
}
