package website

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

type configMaps = childClient[*corev1.ConfigMap, *corev1ac.ConfigMapApplyConfiguration]

func newConfigMaps(client kubernetes.Interface, lister corev1listers.ConfigMapLister, owners owners) *configMaps {
	return &configMaps{
		kind:   "ConfigMap",
		owners: owners,
		cached: func(namespace, name string) (*corev1.ConfigMap, error) {
			return lister.ConfigMaps(namespace).Get(name)
		},
		live: func(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
			return client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		},
		extract: corev1ac.ExtractConfigMap,
		apply: func(ctx context.Context, namespace string, desired *corev1ac.ConfigMapApplyConfiguration, options metav1.ApplyOptions) (*corev1.ConfigMap, error) {
			return client.CoreV1().ConfigMaps(namespace).Apply(ctx, desired, options)
		},
	}
}

// ensureConfigMap keeps the nginx configuration of a Website. It comes before
// the Deployment, whose pods would otherwise wait for it, and a ConfigMap that
// is not ours keeps the Deployment from being written: its pods would run with
// whatever somebody else wrote in there.
func (c *Controller) ensureConfigMap(ctx context.Context, p *pass) error {
	seen, err := c.configMaps.observe(ctx, p.site, resources.ConfigMapName(p.site))
	if err != nil {
		return err
	}
	seen, done, err := c.configMaps.ensure(ctx, p.site, seen, resources.ConfigMap(p.wanted, p.nginxConfig))
	if err != nil {
		return err
	}
	// That it is created goes without saying: it is of no use by itself.
	if done != created {
		c.reporter.wrote(p.site, seen.child, c.configMaps.kind, done)
	}
	return nil
}
