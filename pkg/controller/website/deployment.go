package website

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/kubernetes"
	appsv1listers "k8s.io/client-go/listers/apps/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

type (
	deployments        = childClient[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]
	observedDeployment = observation[*appsv1.Deployment]
)

func newDeployments(client kubernetes.Interface, lister appsv1listers.DeploymentLister, owners owners) *deployments {
	return &deployments{
		kind:   "Deployment",
		owners: owners,
		cached: func(namespace, name string) (*appsv1.Deployment, error) {
			return lister.Deployments(namespace).Get(name)
		},
		live: func(ctx context.Context, namespace, name string) (*appsv1.Deployment, error) {
			return client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		extract: appsv1ac.ExtractDeployment,
		apply: func(ctx context.Context, namespace string, desired *appsv1ac.DeploymentApplyConfiguration, options metav1.ApplyOptions) (*appsv1.Deployment, error) {
			return client.AppsV1().Deployments(namespace).Apply(ctx, desired, options)
		},
	}
}

// ensureDeployment keeps the Deployment of a Website, starting from what was
// found under its name at the beginning of the pass.
func (c *Controller) ensureDeployment(ctx context.Context, p *pass) error {
	if err := c.buildFromLive(ctx, p); err != nil {
		return err
	}
	seen, done, err := c.deployments.ensure(ctx, p.site, p.deployment, p.desiredDeployment)
	if err != nil {
		var taken *nameTakenError
		if errors.As(err, &taken) {
			p.deployment = observedDeployment{} // The cache showed one that is gone.
		}
		return err
	}
	p.deployment = seen
	c.reporter.wrote(p.site, seen.child, c.deployments.kind, done)
	return nil
}

// buildFromLive reads the Deployment of a suspended Website once more before it
// is changed: the commit that the site stays on is read from it, and a cache that
// lags behind may show another one, or none.
func (c *Controller) buildFromLive(ctx context.Context, p *pass) error {
	if !p.site.Spec.Suspend || p.deployment.live {
		return nil
	}
	settled, err := c.deployments.settled(p.deployment, p.desiredDeployment)
	if err != nil || settled {
		return err
	}
	if p.deployment, err = c.deployments.observeLive(ctx, p.site, resources.DeploymentName(p.site)); err != nil {
		return err
	}
	return c.build(p)
}
