package website

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// reconciler brings Websites and their children together.
type reconciler struct {
	// websites shows what was written last; websiteIndex finds claimants.
	websites     cache.MutationCache
	websiteIndex cache.Indexer

	children *children.Children
	pods     *websitePods
	images   resources.Images

	events   *eventReporter
	statuses *statusReporter
	tracer   tracer
	clock    clock.PassiveClock
}

// reconcile brings the children of a Website to what they should be and reports
// what it has found. The problems that it returns decide when it is called again.
func (r *reconciler) reconcile(ctx context.Context, key cache.ObjectName) []*problem.Problem {
	website := r.website(key)
	if website == nil {
		r.events.forget(key)
		r.statuses.writes.forget(key)
		return nil
	}
	if !website.DeletionTimestamp.IsZero() {
		// Garbage collection removes the children; putting one back would only
		// get in its way.
		return nil
	}

	found, problems := r.reconcileChildren(ctx, website)
	r.events.report(website, problems)
	if p := r.statuses.report(ctx, found, problems); p != nil {
		problems = append(problems, p)
	}
	return problems
}

// reconcileChildren returns what it has found or made, for the status: nil when it
// is not known whether there is a Deployment.
func (r *reconciler) reconcileChildren(ctx context.Context, website *v1beta1.Website) (*status.Input, []*problem.Problem) {
	found, desired, p := r.claim(ctx, website)
	if p != nil {
		return found, []*problem.Problem{p}
	}
	var problems []*problem.Problem

	// The configuration comes before the pods that would otherwise wait for it, and
	// one that belongs to something else keeps them from running with it.
	if p := r.ensureConfigMap(ctx, website, desired); p != nil {
		problems = append(problems, p)
	} else if found.Deployment, p = r.ensureDeployment(ctx, website, found.Deployment, desired); p != nil {
		problems = append(problems, p)
	}
	if found.Deployment == nil {
		return found, problems
	}

	// A Service is of no use without pods, but one that is missing in front of
	// pods is put back whatever else is wrong.
	if found.Service, p = r.ensureService(ctx, website, desired); p != nil {
		found.ServiceTaken = p.Reason == v1beta1.WebsiteReasonNameTaken
		problems = append(problems, p)
	}
	if p := r.ensurePodDisruptionBudget(ctx, website, desired); p != nil {
		problems = append(problems, p)
	}
	return found, problems
}

// desiredChildren is what the children of a Website are to be.
type desiredChildren struct {
	// website is the Website itself or, while it is suspended, one that stays on a
	// commit.
	website     *v1beta1.Website
	nginxConfig string
	deployment  *appsv1ac.DeploymentApplyConfiguration
}

// claim finds out whether the name is this Website's to use, and builds what it
// will hold. The Deployment is what stakes the claim: while it belongs to
// something else, nothing at all is written.
func (r *reconciler) claim(ctx context.Context, website *v1beta1.Website) (found *status.Input, desired desiredChildren, p *problem.Problem) {
	ctx, end := r.tracer.startStep(ctx, stepClaim)
	defer func() { end(p) }()

	name := resources.DeploymentName(website)
	deployment, p := r.children.Deployments.Find(ctx, website, name)
	if p != nil && p.Reason != v1beta1.WebsiteReasonNameTaken {
		return nil, desired, p
	}
	found = &status.Input{Website: website, Deployment: deployment, Probing: r.pods.prober != nil, Now: r.clock.Now()}
	if p != nil {
		return found, desired, p
	}
	if older := r.olderClaimant(website); deployment == nil && older != nil &&
		!r.children.ConfigMaps.Holds(website, resources.ConfigMapName(website)) {
		return found, desired, r.children.Deployments.Claimed(name, older)
	}
	found.Pods = r.pods.of(website)
	desired, p = r.build(website, status.KeptCommit(found))
	return found, desired, p
}

// build builds what the children are to be, on a commit unless that is empty.
func (r *reconciler) build(website *v1beta1.Website, commit string) (desired desiredChildren, p *problem.Problem) {
	if commit != "" {
		website = resources.KeptOn(website, commit)
	}
	nginxConfig, err := resources.NginxConfig(website)
	if err != nil {
		return desired, problem.InvalidSpec(err)
	}
	deployment, err := resources.Deployment(website, r.images, nginxConfig)
	if err != nil {
		return desired, problem.InvalidSpec(err)
	}
	return desiredChildren{website: website, nginxConfig: nginxConfig, deployment: deployment}, nil
}

func (r *reconciler) ensureConfigMap(ctx context.Context, website *v1beta1.Website, desired desiredChildren) (p *problem.Problem) {
	ctx, end := r.tracer.startStep(ctx, stepConfigMap)
	defer func() { end(p) }()

	configMap, done, p := r.children.ConfigMaps.Ensure(ctx, website, resources.ConfigMap(desired.website, desired.nginxConfig))
	recordChildWrite(r.children.ConfigMaps, done)
	// That it is created goes without saying: it is of no use by itself.
	if done != children.Created {
		r.events.childWritten(website, configMap, r.children.ConfigMaps, done)
	}
	return p
}

func (r *reconciler) ensureDeployment(ctx context.Context, website *v1beta1.Website, current *appsv1.Deployment, desired desiredChildren) (deployment *appsv1.Deployment, p *problem.Problem) {
	ctx, end := r.tracer.startStep(ctx, stepDeployment)
	defer func() { end(p) }()

	deployment, done, p := r.children.Deployments.Apply(ctx, website, current, desired.deployment)
	recordChildWrite(r.children.Deployments, done)
	r.events.childWritten(website, deployment, r.children.Deployments, done)
	return deployment, p
}

func (r *reconciler) ensureService(ctx context.Context, website *v1beta1.Website, desired desiredChildren) (service *corev1.Service, p *problem.Problem) {
	ctx, end := r.tracer.startStep(ctx, stepService)
	defer func() { end(p) }()

	service, done, p := r.children.Services.Ensure(ctx, website, resources.Service(desired.website))
	if p != nil {
		return nil, p // One that could not be written may have addresses that are not wanted.
	}
	recordChildWrite(r.children.Services, done)
	r.events.childWritten(website, service, r.children.Services, done)
	return service, nil
}

// ensurePodDisruptionBudget keeps the PodDisruptionBudget of a Website with
// several pods, and removes that of one that has no longer several.
func (r *reconciler) ensurePodDisruptionBudget(ctx context.Context, website *v1beta1.Website, desired desiredChildren) (p *problem.Problem) {
	ctx, end := r.tracer.startStep(ctx, stepPodDisruptionBudget)
	defer func() { end(p) }()

	budgets := r.children.PodDisruptionBudgets
	if !resources.WantsPodDisruptionBudget(website) {
		done, p := budgets.Delete(ctx, website, resources.PodDisruptionBudgetName(website))
		recordChildWrite(budgets, done)
		return p
	}
	budget, done, p := budgets.Ensure(ctx, website, resources.PodDisruptionBudget(desired.website))
	recordChildWrite(budgets, done)
	// That it comes with the second pod goes without saying.
	if done != children.Created {
		r.events.childWritten(website, budget, budgets, done)
	}
	return p
}

// website returns a Website as the cache shows it, or as it was last written when
// that is newer; nil when there is none.
func (r *reconciler) website(key cache.ObjectName) *v1beta1.Website {
	obj, exists, err := r.websites.GetByKey(key.String())
	if website, ok := obj.(*v1beta1.Website); err == nil && exists && ok {
		return website
	}
	return nil
}

// olderClaimant returns the oldest other Website that asks for the same name, if
// it is older than this one. Of several, the oldest gets a name that no child has
// yet; one that holds a child under it keeps it. Two that are reconciled before the
// cache shows both try to create the same ConfigMap, and the API server refuses the
// second.
func (r *reconciler) olderClaimant(website *v1beta1.Website) *v1beta1.Website {
	oldest := website
	for _, other := range claimants(r.websiteIndex, website.Namespace, resources.DeploymentName(website)) {
		if other.DeletionTimestamp.IsZero() && isOlder(other, oldest) {
			oldest = other
		}
	}
	if oldest == website {
		return nil
	}
	return oldest
}

// isOlder orders Websites by age. Time stamps have seconds only, so among those
// of one second the name decides.
func isOlder(a, b *v1beta1.Website) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}
