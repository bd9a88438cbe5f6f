package status

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

func (in *Input) wantedReplicas() int32 { return ptr.Deref(in.Website.Spec.Replicas, 1) }

// current reports whether the Deployment controller has observed the spec of the Deployment.
func (in *Input) current() bool {
	return in.Deployment != nil && in.Deployment.Status.ObservedGeneration >= in.Deployment.Generation
}

// updated reports whether all pods are up to date, and there are no others.
func (in *Input) updated() bool {
	return in.current() && in.Deployment.Status.UpdatedReplicas == in.wantedReplicas() &&
		in.Deployment.Status.Replicas == in.wantedReplicas()
}

// rolledOut reports whether all requested pods are up to date and available.
func (in *Input) rolledOut() bool {
	return in.updated() && in.Deployment.Status.AvailableReplicas == in.wantedReplicas()
}

// available reports whether enough pods serve: one may be missing, as the PodDisruptionBudget allows,
// unless it is the only one. While only the number of replicas changes, the pods that served before
// are enough.
func (in *Input) available() bool {
	return in.Deployment != nil &&
		(in.Deployment.Status.AvailableReplicas >= max(1, in.wantedReplicas()-1) || in.onlyScaling() ||
			in.keepsServing() && !in.current())
}

// keepsServing reports whether the last written status was Ready, apart from its hosts, and no pod
// that was available then is missing: fewer of them are enough when fewer are requested.
func (in *Input) keepsServing() bool {
	wasReady := meta.IsStatusConditionTrue(in.Website.Status.Conditions, v1beta1.WebsiteReady) || in.wasUnreadyForHosts()
	if in.Deployment == nil || !wasReady {
		return false
	}
	before := min(in.wantedReplicas(), in.Website.Status.AvailableReplicas)
	return in.Deployment.Status.AvailableReplicas >= max(1, before)
}

// onlyScaling reports whether pods are missing or superfluous only because spec.replicas has changed:
// all pods have the current pod template, and no serving pod is lost. After a new pod template some
// pods are outdated, after a loss fewer pods are available than before.
func (in *Input) onlyScaling() bool {
	return in.current() && in.keepsServing() && in.Deployment.Status.UpdatedReplicas == in.Deployment.Status.Replicas
}

// notObservedYet keeps Ready, with the previous generation, until the Deployment controller has
// observed a change: only then it is known whether pods are replaced.
func notObservedYet(in *Input) *finding {
	if in.Deployment == nil || in.current() || !in.keepsServing() {
		return nil
	}
	return &finding{unchanged: in.reported(v1beta1.WebsiteReady)}
}

func childProblem(in *Input) *finding {
	if in.Problem == nil {
		return nil
	}
	return &finding{reason: in.Problem.Reason, message: in.Problem.Message, transient: in.Problem.Passing}
}

var (
	noDeployment = report(v1beta1.WebsiteReasonMinimumReplicasUnavailable, "the Deployment does not exist")

	noPodsWanted = only(func(in *Input) bool { return in.wantedReplicas() == 0 },
		report(v1beta1.WebsiteReasonScaledToZero, "the website is offline: spec.replicas is 0"))

	scaledToZero = only((*Input).updated, noPodsWanted)

	enoughAvailable = only((*Input).available,
		report(v1beta1.WebsiteReasonMinimumReplicasAvailable, "enough pods are available"))

	unavailableThoughUpdated = only((*Input).updated, tooFewAvailable)

	serving = report(v1beta1.WebsiteReasonServing, "the website is served as specified")

	rolloutComplete = only((*Input).rolledOut,
		report(v1beta1.WebsiteReasonRolloutComplete, "all pods are up to date"))

	// rolloutPending is for pods that are up to date, except for changes of this version of the
	// controller.
	rolloutPending = only(func(in *Input) bool { return in.RolloutPending && in.rolledOut() },
		report(v1beta1.WebsiteReasonRolloutPending, "the rollout of the current configuration of website-controller waits "+
			"for rollouts of other Websites; see --max-concurrent-rollouts"))

	rolloutInProgress = report(v1beta1.WebsiteReasonRolloutInProgress, "pods are being started or replaced")
)

func tooFewAvailable(in *Input) *finding {
	return &finding{reason: v1beta1.WebsiteReasonMinimumReplicasUnavailable,
		message: fmt.Sprintf("too few of the %d requested pods are available", in.wantedReplicas())}
}

// paused returns a finding if the Deployment is paused. The controller does not own that field, and
// leaves it to other clients.
func paused(in *Input) *finding {
	if in.Deployment == nil || !in.Deployment.Paused || in.updated() || in.onlyScaling() {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonDeploymentPaused,
		message: fmt.Sprintf("the Deployment is paused and replaces no pods; run \"kubectl rollout resume deployment/%s\"",
			in.Deployment.Name)}
}

// overdue returns a finding if the Deployment has exceeded its progress deadline.
func overdue(in *Input) *finding {
	if !in.current() {
		return nil
	}
	if in.Deployment.Status.Progressing != corev1.ConditionFalse ||
		in.Deployment.Status.ProgressingReason != "ProgressDeadlineExceeded" {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonProgressDeadlineExceeded,
		message: "new pods did not become available within the progress deadline of the Deployment; existing pods are kept"}
}

// quotaLimit matches the parts of a quota error that do not change with the usage.
var quotaLimit = regexp.MustCompile(`exceeded quota: ([^,]+),.*(limited: .*)$`)

// forbiddenObject matches the beginning of the message of a rejected pod. The name of the pod differs
// each time.
var forbiddenObject = regexp.MustCompile(`^.*?pods "[^"]*" is forbidden: `)

// podsRefused returns the reason in the conditions of a Deployment why it has no pods.
func podsRefused(website *v1beta1.Website, deployment *cached.Deployment) *finding {
	failure := deployment.Status.ReplicaFailure
	if failure == "" {
		return nil
	}
	message := forbiddenObject.ReplaceAllString(failure, "")
	if !strings.Contains(failure, "is forbidden") {
		return &finding{reason: v1beta1.WebsiteReasonPodCreationFailed, message: "pods cannot be created: " + message}
	}
	if limit := quotaLimit.FindStringSubmatch(message); limit != nil {
		message = fmt.Sprintf("quota %q is exceeded, %s", limit[1], limit[2])
	}
	if containers := resources.LimitedContainers(website, message); len(containers) > 0 {
		message = "container " + strings.Join(containers, ", ") + ": " + message
	}
	return &finding{reason: problem.RefusalReason(failure), message: "pods are rejected: " + message}
}
