package status

import (
	"fmt"
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

func (in *Input) wantedReplicas() int32 { return ptr.Deref(in.Website.Spec.Replicas, 1) }

// current reports whether the status of the Deployment is about its spec.
func (in *Input) current() bool {
	return in.Deployment != nil && in.Deployment.Status.ObservedGeneration >= in.Deployment.Generation
}

// updated reports whether all pods are up to date, and there are no others.
func (in *Input) updated() bool {
	return in.current() && in.Deployment.Status.UpdatedReplicas == in.wantedReplicas() &&
		in.Deployment.Status.Replicas == in.wantedReplicas()
}

func (in *Input) rolledOut() bool {
	return in.updated() && in.Deployment.Status.AvailableReplicas == in.wantedReplicas()
}

// available reports whether enough pods serve: one may be missing, as the
// PodDisruptionBudget allows, unless it is the only one.
func (in *Input) available() bool {
	return in.Deployment != nil && in.Deployment.Status.AvailableReplicas >= max(1, in.wantedReplicas()-1)
}

func childProblem(in *Input) *finding {
	if in.Problem == nil {
		return nil
	}
	return &finding{reason: in.Problem.Reason, message: in.Problem.Message}
}

func noDeployment(*Input) *finding {
	return &finding{reason: v1beta1.WebsiteReasonMinimumReplicasUnavailable, message: "there is no Deployment"}
}

func noPodsWanted(in *Input) *finding {
	if in.wantedReplicas() != 0 {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonScaledToZero, message: "the site is offline, as spec.replicas: 0 asks for"}
}

func scaledToZero(in *Input) *finding {
	if !in.updated() {
		return nil
	}
	return noPodsWanted(in)
}

func enoughAvailable(in *Input) *finding {
	if !in.available() {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonMinimumReplicasAvailable, message: "enough pods serve the site"}
}

func tooFewAvailable(in *Input) *finding {
	return &finding{reason: v1beta1.WebsiteReasonMinimumReplicasUnavailable,
		message: fmt.Sprintf("too few of the %d pods asked for are available", in.wantedReplicas())}
}

func unavailableThoughUpdated(in *Input) *finding {
	if !in.updated() {
		return nil
	}
	return tooFewAvailable(in)
}

func serving(*Input) *finding {
	return &finding{reason: v1beta1.WebsiteReasonServing, message: "the site is served as the spec says"}
}

func rolloutComplete(in *Input) *finding {
	if !in.rolledOut() {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonRolloutComplete, message: "all pods have the shape that the spec asks for"}
}

func rolloutInProgress(*Input) *finding {
	return &finding{reason: v1beta1.WebsiteReasonRolloutInProgress, message: "pods are being started or replaced"}
}

// paused finds that the Deployment is kept from replacing pods. Whoever paused it
// owns that field, and may mean it.
func paused(in *Input) *finding {
	if in.Deployment == nil || !in.Deployment.Spec.Paused || in.updated() {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonDeploymentPaused,
		message: fmt.Sprintf("somebody has paused the Deployment, so no pods are replaced; \"kubectl rollout resume deployment/%s\" goes on", in.Deployment.Name)}
}

// overdue finds that the Deployment has given up waiting for new pods.
func overdue(in *Input) *finding {
	if !in.current() {
		return nil
	}
	progressing := workload.DeploymentCondition(in.Deployment, appsv1.DeploymentProgressing)
	if progressing == nil || progressing.Status != corev1.ConditionFalse || progressing.Reason != "ProgressDeadlineExceeded" {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonProgressDeadlineExceeded,
		message: "new pods have not become available in time; the ones before them are kept where there are any"}
}

// quotaLimit finds the parts of a quota's refusal that stay the same while the
// usage changes.
var quotaLimit = regexp.MustCompile(`exceeded quota: ([^,]+),.*(limited: .*)$`)

// forbiddenObject is how the message of a refused pod begins. The name of the
// pod is another one each time.
var forbiddenObject = regexp.MustCompile(`^.*?pods "[^"]*" is forbidden: `)

// podsRefused reads from the conditions of a Deployment why it has no pods.
func podsRefused(deployment *appsv1.Deployment) *finding {
	failure := workload.DeploymentCondition(deployment, appsv1.DeploymentReplicaFailure)
	if failure == nil || failure.Status != corev1.ConditionTrue {
		return nil
	}
	message := forbiddenObject.ReplaceAllString(failure.Message, "")
	if !strings.Contains(failure.Message, "is forbidden") {
		return &finding{reason: v1beta1.WebsiteReasonPodCreationFailed, message: "pods cannot be created: " + problem.Shorten(message)}
	}
	if limit := quotaLimit.FindStringSubmatch(message); limit != nil {
		message = fmt.Sprintf("quota %q leaves no room for the pods, %s", limit[1], limit[2])
	}
	return &finding{reason: problem.RefusalReason(failure.Message), message: "pods are refused: " + problem.Shorten(message)}
}
