package rollout

import (
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// Hold keeps the pod template of an existing Deployment while too many others are rolling out, unless
// it changes because of the Website itself. All other children and fields are written.
func (l *Limit) Hold(
	deployments *children.Deployments, input *status.Input, desired *appsv1ac.DeploymentApplyConfiguration,
) *problem.Problem {
	deployment, website := input.Deployment, input.Website
	applied, p := deployments.Applied(deployment)
	if p != nil {
		return p
	}
	wanted, p := deployments.Desired(desired)
	if p != nil {
		return p
	}
	if applied.Content == wanted.Content {
		keepMark(desired, deployment)
		return nil
	}
	after := string(wanted.Content[:])
	requested := !workload.IsFormer(deployment) && RequestedByUser(website, deployment) &&
		!l.Waits(cache.MetaObjectToName(website), after)
	switch {
	case requested, ptr.Deref(website.Spec.Replicas, 1) == 0, !deployment.DeletionTimestamp.IsZero():
	case l.Admit(website, after):
		desired.WithAnnotations(map[string]string{cached.LimitedRolloutAnnotation: "true"})
	default:
		input.RolloutPending = true
		keepMark(desired, deployment)
	}
	return nil
}

// keepMark keeps the annotation of a limited rollout.
func keepMark(desired *appsv1ac.DeploymentApplyConfiguration, deployment *cached.Deployment) {
	if deployment.LimitedRollout {
		desired.WithAnnotations(map[string]string{cached.LimitedRolloutAnnotation: "true"})
	}
}

// End ends the part of a reconciliation that may begin a rollout. input is the observed state, or
// nil.
func (l *Limit) End(website *v1beta1.Website, input *status.Input) {
	switch {
	case input == nil:
		l.Observe(website, false)
	case !input.RolloutPending:
		l.Observe(website, InProgress(input.Deployment))
	}
}

// InCache returns a predicate for the Websites whose cached Deployments have rollouts in progress.
func InCache(deployments *children.Deployments) func(*v1beta1.Website) bool {
	return func(website *v1beta1.Website) bool {
		return InProgress(deployments.Held(website, resources.DeploymentName(website)))
	}
}
