package website

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// reconcile brings the children of a Website to what they should be and reports
// what it has state. The problems that it returns decide when it is called again.
func (c *Controller) reconcile(ctx context.Context, key cache.ObjectName) []*problem.Problem {
	website := c.website(key)
	if website == nil {
		c.events.forget(key)
		c.writes.forget(key)
		return nil
	}
	if !website.DeletionTimestamp.IsZero() {
		// Garbage collection removes the children; putting one back would only
		// get in its way.
		return nil
	}

	state, problems := c.reconcileChildren(ctx, website)
	c.events.report(website, problems)
	if p := c.reportStatus(ctx, website, state, problems); p != nil {
		problems = append(problems, p)
	}
	return problems
}

// childState is what a reconciliation knows of the children of a Website, for its
// status.
type childState struct {
	// known is false when it could not be found out whether there is a Deployment.
	known      bool
	deployment *appsv1.Deployment
	// service is nil when it is not known or could not be written.
	service      *corev1.Service
	serviceTaken bool
	pods         []status.Pod
}

func (c *Controller) reconcileChildren(ctx context.Context, website *v1beta1.Website) (childState, []*problem.Problem) {
	state, desired, p := c.claim(ctx, website)
	if p != nil {
		return state, []*problem.Problem{p}
	}
	var problems []*problem.Problem

	// The configuration comes before the pods that would otherwise wait for it, and
	// one that belongs to something else keeps them from running with it.
	if p := c.ensureConfigMap(ctx, website, desired); p != nil {
		problems = append(problems, p)
	} else if state.deployment, p = c.ensureDeployment(ctx, website, state.deployment, desired); p != nil {
		problems = append(problems, p)
	}
	if state.deployment == nil {
		return state, problems
	}

	// A Service is of no use without pods, but one that is missing in front of
	// pods is put back whatever else is wrong.
	if state.service, p = c.ensureService(ctx, website, desired); p != nil {
		state.serviceTaken = p.Reason == v1beta1.WebsiteReasonNameTaken
		problems = append(problems, p)
	}
	if p := c.ensurePodDisruptionBudget(ctx, website, desired); p != nil {
		problems = append(problems, p)
	}
	return state, problems
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
func (c *Controller) claim(ctx context.Context, website *v1beta1.Website) (state childState, desired desiredChildren, p *problem.Problem) {
	ctx, end := c.startStep(ctx, stepClaim)
	defer func() { end(p) }()

	name := resources.DeploymentName(website)
	if state.deployment, p = c.children.Deployments.Find(ctx, website, name); p != nil {
		state.known = p.Reason == v1beta1.WebsiteReasonNameTaken
		return state, desired, p
	}
	state.known = true
	if older := c.olderClaimant(website); state.deployment == nil && older != nil &&
		!c.children.ConfigMaps.Holds(website, resources.ConfigMapName(website)) {
		return state, desired, c.children.Deployments.Claimed(name, older)
	}
	state.pods = c.podsOf(website)
	desired, p = c.build(website, status.KeptCommit(c.input(website, state)))
	return state, desired, p
}

// build builds what the children are to be, on a commit unless that is empty.
func (c *Controller) build(website *v1beta1.Website, commit string) (desired desiredChildren, p *problem.Problem) {
	if commit != "" {
		website = resources.KeptOn(website, commit)
	}
	nginxConfig, err := resources.NginxConfig(website)
	if err != nil {
		return desired, problem.InvalidSpec(err)
	}
	deployment, err := resources.Deployment(website, c.images, nginxConfig)
	if err != nil {
		return desired, problem.InvalidSpec(err)
	}
	return desiredChildren{website: website, nginxConfig: nginxConfig, deployment: deployment}, nil
}

func (c *Controller) ensureConfigMap(ctx context.Context, website *v1beta1.Website, desired desiredChildren) (p *problem.Problem) {
	ctx, end := c.startStep(ctx, stepConfigMap)
	defer func() { end(p) }()

	configMap, done, p := c.children.ConfigMaps.Ensure(ctx, website, resources.ConfigMap(desired.website, desired.nginxConfig))
	recordChildWrite(c.children.ConfigMaps, done)
	// That it is created goes without saying: it is of no use by itself.
	if done != children.Created {
		c.events.childWritten(website, configMap, c.children.ConfigMaps, done)
	}
	return p
}

func (c *Controller) ensureDeployment(ctx context.Context, website *v1beta1.Website, current *appsv1.Deployment, desired desiredChildren) (deployment *appsv1.Deployment, p *problem.Problem) {
	ctx, end := c.startStep(ctx, stepDeployment)
	defer func() { end(p) }()

	deployment, done, p := c.children.Deployments.Apply(ctx, website, current, desired.deployment)
	recordChildWrite(c.children.Deployments, done)
	c.events.childWritten(website, deployment, c.children.Deployments, done)
	return deployment, p
}

func (c *Controller) ensureService(ctx context.Context, website *v1beta1.Website, desired desiredChildren) (service *corev1.Service, p *problem.Problem) {
	ctx, end := c.startStep(ctx, stepService)
	defer func() { end(p) }()

	service, done, p := c.children.Services.Ensure(ctx, website, resources.Service(desired.website))
	if p != nil {
		return nil, p
	}
	recordChildWrite(c.children.Services, done)
	c.events.childWritten(website, service, c.children.Services, done)
	return service, nil
}

// ensurePodDisruptionBudget keeps the PodDisruptionBudget of a Website with
// several pods, and removes that of one that has no longer several.
func (c *Controller) ensurePodDisruptionBudget(ctx context.Context, website *v1beta1.Website, desired desiredChildren) (p *problem.Problem) {
	ctx, end := c.startStep(ctx, stepPodDisruptionBudget)
	defer func() { end(p) }()

	budgets := c.children.PodDisruptionBudgets
	if !resources.WantsPodDisruptionBudget(website) {
		done, p := budgets.Delete(ctx, website, resources.PodDisruptionBudgetName(website))
		recordChildWrite(budgets, done)
		return p
	}
	budget, done, p := budgets.Ensure(ctx, website, resources.PodDisruptionBudget(desired.website))
	recordChildWrite(budgets, done)
	// That it comes with the second pod goes without saying.
	if done != children.Created {
		c.events.childWritten(website, budget, budgets, done)
	}
	return p
}

// website returns a Website as the cache shows it, or as it was last written when
// that is newer; nil when there is none.
func (c *Controller) website(key cache.ObjectName) *v1beta1.Website {
	obj, exists, err := c.websiteCache.GetByKey(key.String())
	if website, ok := obj.(*v1beta1.Website); err == nil && exists && ok {
		return website
	}
	return nil
}

// olderClaimant returns the oldest other Website that asks for the same name, if
// it is older than this one. Of several, the oldest has a name that no child has
// yet; whoever holds a child under it keeps it. Two that do not see each other yet
// both try to create the ConfigMap, and the API server refuses the second.
func (c *Controller) olderClaimant(website *v1beta1.Website) *v1beta1.Website {
	oldest := website
	for _, other := range c.claimants(website.Namespace, resources.DeploymentName(website)) {
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
