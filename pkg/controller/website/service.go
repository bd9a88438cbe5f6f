package website

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

type services = childClient[*corev1.Service, *corev1ac.ServiceApplyConfiguration]

func newServices(client kubernetes.Interface, lister corev1listers.ServiceLister, owners owners) *services {
	return &services{
		kind:   "Service",
		owners: owners,
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
func (c *Controller) ensureService(ctx context.Context, p *pass) error {
	seen, err := c.services.observe(ctx, p.site, resources.ServiceName(p.site))
	var done outcome
	if err == nil {
		seen, done, err = c.services.ensure(ctx, p.site, seen, resources.Service(p.wanted))
	}
	if err != nil {
		var taken *nameTakenError
		p.serviceTaken = errors.As(err, &taken)
		return err
	}
	p.service = seen.child
	c.reporter.wrote(p.site, seen.child, c.services.kind, done)
	return nil
}
