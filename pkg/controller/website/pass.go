package website

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// step is the name of a part of a pass, in metrics and traces.
type step string

// The steps, in their order.
const (
	stepClaim               step = "claim"
	stepConfigMap           step = "configmap"
	stepDeployment          step = "deployment"
	stepService             step = "service"
	stepPodDisruptionBudget step = "poddisruptionbudget"
	stepStatus              step = "status"
)

// pass is what is known during one pass over one Website.
type pass struct {
	site *v1beta1.Website
	// wanted is what the children are built from: the Website itself, or, while
	// it is suspended, one that stays on a commit.
	wanted            *v1beta1.Website
	nginxConfig       string
	desiredDeployment *appsv1ac.DeploymentApplyConfiguration

	// known is false until it has been found out whether there is a Deployment.
	known      bool
	deployment observedDeployment
	// service is nil when it was not looked at or could not be written.
	service *corev1.Service
	// serviceTaken is true when the Service of that name is something else's.
	serviceTaken bool
	// pods are those of the Deployment, and what is observed of them.
	pods []observedPod

	problems []error
}

// run makes one step. It returns false when the step failed.
func (c *Controller) run(ctx context.Context, p *pass, name step, do func(context.Context, *pass) error) bool {
	ctx, span := c.startStep(ctx, name)
	start := c.clock.Now()
	err := do(ctx, p)
	recordStep(name, err, c.clock.Since(start))
	endStep(span, err)
	if err != nil {
		p.problems = append(p.problems, err)
	}
	return err == nil
}

// reconcileChildren brings the children of a Website to what they should be.
func (c *Controller) reconcileChildren(ctx context.Context, p *pass) {
	claim := claimOf(p.site.Namespace, resources.DeploymentName(p.site))
	key := cache.MetaObjectToName(p.site)
	if !c.claims.acquire(claim, key) {
		p.problems = append(p.problems, errClaimBusy)
		return
	}
	defer func() {
		for _, waiting := range c.claims.release(claim) {
			c.enqueue(waiting)
		}
	}()

	if !c.run(ctx, p, stepClaim, c.claim) {
		return
	}
	if c.run(ctx, p, stepConfigMap, c.ensureConfigMap) {
		c.run(ctx, p, stepDeployment, c.ensureDeployment)
	}
	// A Service is of no use without pods, but one that is missing in front of
	// pods is put back whatever else is wrong.
	if p.deployment.found {
		c.run(ctx, p, stepService, c.ensureService)
		c.run(ctx, p, stepPodDisruptionBudget, c.ensurePodDisruptionBudget)
	}
}

// claim finds out whether the name is this Website's to use, and builds what it
// will hold. The Deployment is what stakes the claim: while it is somebody
// else's, nothing at all is written.
func (c *Controller) claim(ctx context.Context, p *pass) error {
	deployment, err := c.deployments.observe(ctx, p.site, resources.DeploymentName(p.site))
	if err != nil {
		var taken *nameTakenError
		p.known = errors.As(err, &taken)
		return err
	}
	p.known, p.deployment = true, deployment
	if err := c.checkClaim(p.site, &deployment); err != nil {
		return err
	}
	p.pods = c.observedPods(p.site)
	return c.build(p)
}

// build makes what the children are to be.
func (c *Controller) build(p *pass) (err error) {
	p.wanted = c.suspended(p)
	if p.nginxConfig, err = resources.NginxConfig(p.wanted); err != nil {
		return &invalidSpecError{err}
	}
	if p.desiredDeployment, err = resources.Deployment(p.wanted, c.images, p.nginxConfig); err != nil {
		return &invalidSpecError{err}
	}
	return nil
}

// again has a Website looked at once more, when something is due by the clock
// that no event announces.
func (c *Controller) again(p *pass, after time.Duration) {
	c.queue.AddAfter(cache.MetaObjectToName(p.site), after)
}
