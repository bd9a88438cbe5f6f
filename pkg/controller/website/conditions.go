package website

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/observer"
)

// view is what the status of a Website is computed from.
type view struct {
	site *v1beta1.Website
	// deployment is nil when there is none.
	deployment *appsv1.Deployment
	service    *corev1.Service
	// serviceTaken is true when the Service of that name is something else's.
	serviceTaken bool
	pods         []observedPod
	// observing is false when nobody asks the pods what they serve.
	observing bool
	// kept is the commit that a suspended Website stays on.
	kept string
	// problem is what keeps the children from being what they should be.
	problem *cause
	now     time.Time
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}

func (v *view) previousCondition(kind string) *metav1.Condition {
	return meta.FindStatusCondition(v.site.Status.Conditions, kind)
}

func (v *view) wantedReplicas() int32 { return ptr.Deref(v.site.Spec.Replicas, 1) }

// current reports whether the status of the Deployment is about its spec.
func (v *view) current() bool {
	return v.deployment != nil && v.deployment.Status.ObservedGeneration >= v.deployment.Generation
}

// updated reports whether all pods have the shape that is asked for, and there
// are no others.
func (v *view) updated() bool {
	return v.current() && v.deployment.Status.UpdatedReplicas == v.wantedReplicas() &&
		v.deployment.Status.Replicas == v.wantedReplicas()
}

func (v *view) rolledOut() bool {
	return v.updated() && v.deployment.Status.AvailableReplicas == v.wantedReplicas()
}

func (v *view) available() metav1.Condition {
	state := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return condition(v1beta1.WebsiteAvailable, status, reason, message)
	}
	if v.deployment == nil {
		if v.problem != nil {
			return state(metav1.ConditionFalse, v.problem.reason, v.problem.message)
		}
		return state(metav1.ConditionFalse, v1beta1.WebsiteReasonMinimumReplicasUnavailable, "there is no Deployment")
	}
	if v.wantedReplicas() == 0 {
		return state(metav1.ConditionTrue, v1beta1.WebsiteReasonScaledToZero, "the site is offline, as spec.replicas: 0 asks for")
	}
	if v.isAvailable() {
		return state(metav1.ConditionTrue, v1beta1.WebsiteReasonMinimumReplicasAvailable, "enough pods serve the site")
	}
	if found := v.causeOfPods(); found != nil {
		return state(metav1.ConditionFalse, found.reason, found.message)
	}
	return state(metav1.ConditionFalse, v1beta1.WebsiteReasonMinimumReplicasUnavailable,
		fmt.Sprintf("too few of the %d pods asked for are available", v.wantedReplicas()))
}

// isAvailable reports whether enough pods serve: one may be away, as the
// PodDisruptionBudget allows, unless it is the only one.
func (v *view) isAvailable() bool {
	return v.deployment != nil && v.deployment.Status.AvailableReplicas >= max(1, v.wantedReplicas()-1)
}

// causeOfPods returns why there are too few pods, or why they do not serve.
func (v *view) causeOfPods() *cause {
	if v.deployment == nil || v.rolledOut() {
		return nil
	}
	if found := causeOfDeployment(v.deployment); found != nil {
		return found
	}
	if found := causeOfPods(v.site, v.pods, v.now); found != nil {
		return found
	}
	return v.remembered(v1beta1.WebsiteReady, v.anyStartsInSilence())
}

func (v *view) progressing() metav1.Condition {
	state := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return condition(v1beta1.WebsiteProgressing, status, reason, message)
	}
	switch {
	case v.problem != nil:
		return state(metav1.ConditionFalse, v.problem.reason, v.problem.message)
	case v.rolledOut():
		return state(metav1.ConditionFalse, v1beta1.WebsiteReasonRolloutComplete, "all pods have the shape that the spec asks for")
	case v.paused():
		return state(metav1.ConditionFalse, v1beta1.WebsiteReasonDeploymentPaused, fmt.Sprintf("somebody has paused the Deployment, so no pods are replaced; \"kubectl rollout resume deployment/%s\" goes on", v.deployment.Name))
	case v.overdue():
		return state(metav1.ConditionFalse, v1beta1.WebsiteReasonProgressDeadlineExceeded, "new pods have not become available in time; the ones before them are kept where there are any")
	default:
		return state(metav1.ConditionTrue, v1beta1.WebsiteReasonRolloutInProgress, "pods are being started or replaced")
	}
}

// paused reports whether the Deployment is kept from replacing pods. Whoever paused
// it owns that field, and may mean it.
func (v *view) paused() bool {
	return v.deployment != nil && v.deployment.Spec.Paused && !v.updated()
}

// overdue reports whether the Deployment has given up waiting for new pods.
func (v *view) overdue() bool {
	if !v.current() {
		return false
	}
	progressing := deploymentCondition(v.deployment, appsv1.DeploymentProgressing)
	return progressing != nil && progressing.Status == corev1.ConditionFalse && progressing.Reason == "ProgressDeadlineExceeded"
}

// ready sums up: the children are what the spec asks for, all pods have the
// shape that it asks for, and enough of them serve. That the repository is away
// does not matter: what was fetched is served.
func (v *view) ready() metav1.Condition {
	state := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return condition(v1beta1.WebsiteReady, status, reason, message)
	}
	if v.problem != nil {
		return state(metav1.ConditionFalse, v.problem.reason, v.problem.message)
	}
	if !v.updated() || !v.isAvailable() {
		switch found := v.causeOfPods(); {
		case v.wantedReplicas() == 0 && v.updated():
			return state(metav1.ConditionTrue, v1beta1.WebsiteReasonScaledToZero, "the site is offline, as spec.replicas: 0 asks for")
		case v.paused():
			return state(metav1.ConditionFalse, v1beta1.WebsiteReasonDeploymentPaused, v.progressing().Message)
		case found != nil:
			return state(metav1.ConditionFalse, found.reason, found.message)
		case v.overdue():
			return state(metav1.ConditionFalse, v1beta1.WebsiteReasonProgressDeadlineExceeded, v.progressing().Message)
		case v.updated():
			return state(metav1.ConditionFalse, v1beta1.WebsiteReasonMinimumReplicasUnavailable, v.available().Message)
		default:
			return state(metav1.ConditionFalse, v1beta1.WebsiteReasonRolloutInProgress, v.progressing().Message)
		}
	}
	if found := v.emptySite(); found != nil {
		return state(metav1.ConditionFalse, found.reason, found.message)
	}
	return state(metav1.ConditionTrue, v1beta1.WebsiteReasonServing, "the site is served as the spec says")
}

// emptySite returns a cause when every page of the site is missing: a commit
// that is served has removed the published directory. All pods come to serve the
// same, so one that answers is believed although another never does.
func (v *view) emptySite() *cause {
	heard, asked := false, true
	for _, pod := range v.pods {
		if !pod.ready {
			continue
		}
		if pod.PathNotFound {
			return pathNotFound(v.site)
		}
		heard = heard || pod.Observation != observer.Observation{}
		asked = asked && !pod.undecided()
	}
	known := v.remembered(v1beta1.WebsiteReady, v.observing && !(heard && asked))
	if known == nil || known.reason != v1beta1.WebsiteReasonPathNotFound {
		return nil
	}
	return known
}
