package website

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1alpha1"
)

type services = childClient[*corev1.Service, *corev1ac.ServiceApplyConfiguration]

func newServices(client kubernetes.Interface, lister corev1listers.ServiceLister, sites websitelisters.WebsiteLister) *services {
	return &services{
		kind:  "Service",
		sites: sites,
		cached: func(namespace, name string) (*corev1.Service, error) {
			return lister.Services(namespace).Get(name)
		},
		live: func(ctx context.Context, namespace, name string) (*corev1.Service, error) {
			return client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		extract: corev1ac.ExtractService,
		apply: func(ctx context.Context, namespace string, desired *corev1ac.ServiceApplyConfiguration, options metav1.ApplyOptions) (*corev1.Service, error) {
			return client.CoreV1().Services(namespace).Apply(ctx, desired, options)
		},
	}
}

// ensureService keeps the Service of a Website.
func (c *Controller) ensureService(ctx context.Context, site *v1alpha1.Website) error {
	seen, err := c.services.observe(ctx, site, resources.ServiceName(site))
	if err != nil {
		return err
	}
	seen, done, err := c.services.ensure(ctx, site, seen, resources.Service(site))
	if err != nil {
		return err
	}
	switch done {
	case created:
		c.reporter.created(site, seen.child, c.services.kind)
	case updated:
		c.reporter.updated(site, seen.child, c.services.kind)
	}
	return nil
}
