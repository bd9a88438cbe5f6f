package website

import (
	"context"
	"fmt"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/client-go/kubernetes"
	policyv1listers "k8s.io/client-go/listers/policy/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

type podDisruptionBudgets struct {
	childClient[*policyv1.PodDisruptionBudget, *policyv1ac.PodDisruptionBudgetApplyConfiguration]
	delete func(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error
}

func newPodDisruptionBudgets(client kubernetes.Interface, lister policyv1listers.PodDisruptionBudgetLister, owners owners) *podDisruptionBudgets {
	budgets := &podDisruptionBudgets{
		delete: func(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
			return client.PolicyV1().PodDisruptionBudgets(namespace).Delete(ctx, name, options)
		},
	}
	budgets.childClient = childClient[*policyv1.PodDisruptionBudget, *policyv1ac.PodDisruptionBudgetApplyConfiguration]{
		kind:   "PodDisruptionBudget",
		owners: owners,
		cached: func(namespace, name string) (*policyv1.PodDisruptionBudget, error) {
			return lister.PodDisruptionBudgets(namespace).Get(name)
		},
		live: func(ctx context.Context, namespace, name string) (*policyv1.PodDisruptionBudget, error) {
			return client.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		extract: policyv1ac.ExtractPodDisruptionBudget,
		apply: func(ctx context.Context, namespace string, desired *policyv1ac.PodDisruptionBudgetApplyConfiguration, options metav1.ApplyOptions) (*policyv1.PodDisruptionBudget, error) {
			return client.PolicyV1().PodDisruptionBudgets(namespace).Apply(ctx, desired, options)
		},
	}
	return budgets
}

// ensurePodDisruptionBudget keeps the PodDisruptionBudget of a Website with
// several pods, and removes that of one that has no longer several.
func (c *Controller) ensurePodDisruptionBudget(ctx context.Context, p *pass) error {
	name := resources.PodDisruptionBudgetName(p.site)
	if !resources.WantsPodDisruptionBudget(p.site) {
		return c.removePodDisruptionBudget(ctx, p, name)
	}
	seen, err := c.budgets.observe(ctx, p.site, name)
	if err != nil {
		return err
	}
	seen, done, err := c.budgets.ensure(ctx, p.site, seen, resources.PodDisruptionBudget(p.wanted))
	if err != nil {
		return err
	}
	// That it comes with the second pod goes without saying.
	if done != created {
		c.reporter.wrote(p.site, seen.child, c.budgets.kind, done)
	}
	return nil
}

// removePodDisruptionBudget trusts the cache: a budget that is not in there yet
// starts another pass when it arrives. The preconditions keep a
// budget from harm that is somebody else's by now.
func (c *Controller) removePodDisruptionBudget(ctx context.Context, p *pass, name string) error {
	budget, err := c.budgets.cached(p.site.Namespace, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading PodDisruptionBudget %q from the cache: %w", name, err)
	}
	if !metav1.IsControlledBy(budget, p.site) || !budget.DeletionTimestamp.IsZero() {
		return nil
	}
	err = c.budgets.delete(ctx, p.site.Namespace, name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: ptr.To(budget.UID), ResourceVersion: ptr.To(budget.ResourceVersion)},
	})
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil // Gone, or in other hands. Its event has the last word.
	case err != nil:
		return fmt.Errorf("deleting PodDisruptionBudget %q: %w", name, err)
	}
	recordChildWrite(c.budgets.kind, deleted)
	return nil
}
