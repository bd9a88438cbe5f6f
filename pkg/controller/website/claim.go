package website

import (
	"context"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	api "github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// desiredChildren is the desired state of the children of a Website.
type desiredChildren struct {
	configMap  *corev1ac.ConfigMapApplyConfiguration
	deployment *appsv1ac.DeploymentApplyConfiguration
}

// claim determines whether the Website may use its deployment name, and builds the desired children.
// The Deployment stakes the claim: while it has another owner, nothing is written.
func (r *reconciler) claim(ctx context.Context, run *reconciliation) *problem.Problem {
	website, name := run.website, resources.DeploymentName(run.website)
	deployment, p := r.children.Deployments.Find(ctx, website, name)
	if p != nil && p.Reason != v1beta1.WebsiteReasonNameTaken {
		return p
	}
	run.input = &status.Input{Website: website, Deployment: deployment, Probing: r.pods.prober != nil,
		Now: r.clock.Now()}
	if p != nil {
		return p
	}
	if older := r.olderClaimant(website); deployment == nil && older != nil &&
		!r.children.ConfigMaps.HoldsAny(website) {
		return r.children.Deployments.Claimed(name, older)
	}
	run.input.Pods = r.pods.of(website)
	if deployment != nil {
		run.input.Template = r.children.ConfigMaps.TemplateHash(deployment)
	}
	if run.memory.hasStatus && website.Status.ObservedGeneration == 0 {
		// The cache lacks the status, so it may also lack the deletion, after which children are not created again.
		if p := r.children.Deployments.MayOwn(ctx, website, name); p != nil {
			return p
		}
	}
	wasAttempted := run.memory.isAttempted
	run.memory.isAttempted = website.Status.ObservedGeneration == 0
	run.isNew = run.memory.isAttempted && !wasAttempted && deployment == nil
	run.desired, p = r.build(website, deployment)
	return p
}

// build builds the desired children. The Deployment may exist already.
func (r *reconciler) build(website *v1beta1.Website, existing *cached.Deployment) (desired desiredChildren,
	p *problem.Problem) {
	nginxConfig, err := resources.NginxConfig(website, r.installation)
	if err != nil {
		return desired, problem.InvalidSpec(err)
	}
	deployment, err := resources.Deployment(website, r.installation, nginxConfig)
	if err != nil {
		return desired, problem.InvalidSpec(err)
	}
	deployment.Spec.Selector.MatchLabels = workload.DeploymentSelector(website, existing)
	if existing != nil && existing.MinReadySeconds >= resources.ProgressDeadlineSeconds {
		// The API server rejects a progress deadline that is not longer. A value of another client is
		// reset once: zero is not stored, so the controller does not own the field afterwards.
		deployment.Spec.WithMinReadySeconds(0)
	}
	return desiredChildren{configMap: resources.ConfigMap(website, nginxConfig), deployment: deployment}, nil
}

// olderClaimant returns the oldest other Website that claims the same name, if it is older than this
// one. The oldest of several gets a name without children; a Website with a child of that name keeps
// it. Two Websites that are reconciled before the cache has both try to create the same ConfigMap,
// and the API server rejects the second.
func (r *reconciler) olderClaimant(website *v1beta1.Website) *v1beta1.Website {
	oldest := website
	for _, other := range claimants(r.websiteIndex, website.Namespace, resources.DeploymentName(website)) {
		if other.DeletionTimestamp.IsZero() && api.IsOlder(other, oldest) {
			oldest = other
		}
	}
	if oldest == website {
		return nil
	}
	return oldest
}
