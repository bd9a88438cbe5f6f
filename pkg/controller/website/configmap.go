package website

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

type configMaps = childClient[*corev1.ConfigMap, *corev1ac.ConfigMapApplyConfiguration]

func newConfigMaps(client kubernetes.Interface, lister corev1listers.ConfigMapLister, sites websitelisters.WebsiteLister) *configMaps {
	return &configMaps{
		kind:  "ConfigMap",
		sites: sites,
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
func (c *Controller) ensureConfigMap(ctx context.Context, site *v1beta1.Website, nginxConfig string) error {
	seen, err := c.configMaps.observe(ctx, site, resources.ConfigMapName(site))
	if err != nil {
		return err
	}
	seen, done, err := c.configMaps.ensure(ctx, site, seen, resources.ConfigMap(site, nginxConfig))
	if err != nil {
		return err
	}
	if done == updated {
		c.reporter.updated(site, seen.child, c.configMaps.kind)
	}
	return nil
}
