package website

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/rollout"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// limitRollout leaves the pod template of a Deployment as it is while too many others are
// rolling out, unless it changes because the Website did. Everything else of the children
// is written all the same.
func (r *reconciler) limitRollout(found *status.Input, desired *desiredChildren) *problem.Problem {
	deployment, website := found.Deployment, found.Website
	if deployment == nil {
		return nil
	}
	if r.keepTakeover(found) {
		desired.deployment.Spec.WithMinReadySeconds(r.takeoverReadySeconds)
	}
	applied, p := r.children.Deployments.Applied(deployment)
	if p != nil {
		return p
	}
	wanted, p := r.children.Deployments.Desired(desired.deployment)
	if p != nil {
		return p
	}
	if applied.Content == wanted.Content {
		desired.keepMark(deployment)
		return nil
	}
	after := string(wanted.Content[:])
	requested := !children.IsFormer(deployment) && rollout.RequestedByUser(website, deployment) && !r.rollouts.Waits(cache.MetaObjectToName(website), after)
	switch {
	case requested, ptr.Deref(website.Spec.Replicas, 1) == 0, !deployment.DeletionTimestamp.IsZero():
	case r.rollouts.Admit(website, after):
		desired.deployment.WithAnnotations(map[string]string{children.LimitedRolloutAnnotation: "true"})
	default:
		found.RolloutPending = true
		desired.keepMark(deployment)
	}
	return nil
}

// keepMark leaves the annotation of a limited rollout as it is.
func (d *desiredChildren) keepMark(deployment *appsv1.Deployment) {
	if mark, ok := deployment.Annotations[children.LimitedRolloutAnnotation]; ok {
		d.deployment.WithAnnotations(map[string]string{children.LimitedRolloutAnnotation: mark})
	}
}

// observeRollout ends the part of a reconciliation that may begin a rollout, which has
// found this, or nil.
func (r *reconciler) observeRollout(website *v1beta1.Website, found *status.Input) {
	switch {
	case found == nil:
		r.rollouts.Observe(website, false)
	case !found.RolloutPending:
		r.rollouts.Observe(website, rollout.InProgress(found.Deployment))
	}
}

// startRollouts has the limit know the rollouts that are in progress already.
func (r *reconciler) startRollouts(websites []*v1beta1.Website) {
	r.rollouts.Start(websites, func(website *v1beta1.Website) bool {
		return rollout.InProgress(r.children.Deployments.Held(website, resources.DeploymentName(website)))
	})
}
