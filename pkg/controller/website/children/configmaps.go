package children

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

const (
	// byDeploymentName indexes ConfigMaps by the deployment name in theirs.
	byDeploymentName = "namespace/deploymentName"
	// byConfigMap indexes ReplicaSets by the ConfigMaps that their pods mount.
	byConfigMap = "namespace/configMap"
)

// ConfigMaps reads and writes the nginx configurations of Websites. A Website has one
// for each configuration that a pod could still be started with.
type ConfigMaps struct {
	*Kind[*corev1.ConfigMap, *corev1ac.ConfigMapApplyConfiguration]
	kube        kubernetes.Interface
	index       cache.Indexer
	replicaSets cache.Indexer
}

func newConfigMaps(kube kubernetes.Interface, informers kubeinformers.SharedInformerFactory,
	owners Owners) (*ConfigMaps, error) {
	configMaps, replicaSets := informers.Core().V1().ConfigMaps().Informer(),
		informers.Apps().V1().ReplicaSets().Informer()
	if err := configMaps.AddIndexers(cache.Indexers{byDeploymentName: func(obj any) ([]string, error) {
		configMap, ok := obj.(*corev1.ConfigMap)
		if !ok {
			return nil, nil
		}
		name, ok := resources.DeploymentNameOfConfigMap(configMap.Name)
		if !ok {
			return nil, nil
		}
		return []string{cache.NewObjectName(configMap.Namespace, name).String()}, nil
	}}); err != nil {
		return nil, fmt.Errorf("indexing ConfigMaps: %w", err)
	}
	if err := replicaSets.AddIndexers(cache.Indexers{byConfigMap: func(obj any) ([]string, error) {
		replicaSet, ok := obj.(*ReplicaSet)
		if !ok {
			return nil, nil
		}
		var keys []string
		for _, name := range replicaSet.ConfigMaps {
			keys = append(keys, cache.NewObjectName(replicaSet.Namespace, name).String())
		}
		return keys, nil
	}}); err != nil {
		return nil, fmt.Errorf("indexing ReplicaSets: %w", err)
	}
	kind := newKind("ConfigMap", owners, configMaps.GetStore(), kube.CoreV1().ConfigMaps, extractConfigMap)
	kind.digest = digestOfConfigMap
	return &ConfigMaps{Kind: kind, kube: kube, index: configMaps.GetIndexer(), replicaSets: replicaSets.GetIndexer()}, nil
}

// Apply creates or updates the ConfigMap of a configuration. An immutable one of
// another content under its name was not made here.
func (c *ConfigMaps) Apply(ctx context.Context, website *v1beta1.Website, child *corev1.ConfigMap,
	desired *corev1ac.ConfigMapApplyConfiguration) (*corev1.ConfigMap, Operation, *problem.Problem) {
	if child == nil || !ptr.Deref(child.Immutable, false) {
		return c.Kind.Apply(ctx, website, child, desired)
	}
	applied, p := c.Applied(child)
	if p != nil {
		return child, Unchanged, p
	}
	wanted, p := c.Desired(desired)
	if p != nil {
		return child, Unchanged, p
	}
	if applied.Content == wanted.Content {
		return c.Kind.Apply(ctx, website, child, desired)
	}
	live, err := c.client(website.Namespace).Get(ctx, child.Name, metav1.GetOptions{})
	if err != nil {
		return child, Unchanged, problem.ClassifyOther(fmt.Errorf("reading %s %q: %w", c.name, child.Name, err))
	}
	if !maps.Equal(live.Data, desired.Data) {
		return child, Unchanged, problem.NameTaken(c.name+"/"+child.Name+"/"+string(child.UID), false,
			"%s %q is immutable and its content is not that of this Website; delete it, then it is created again",
			c.name, child.Name)
	}
	return c.Kind.Apply(ctx, website, child, desired)
}

// HoldsAny reports whether the cache shows a ConfigMap of the Website.
func (c *ConfigMaps) HoldsAny(website *v1beta1.Website) bool {
	for _, configMap := range c.named(website) {
		if metav1.IsControlledBy(configMap, website) {
			return true
		}
	}
	return false
}

// named returns the cached nginx configurations with the deployment name of a Website.
func (c *ConfigMaps) named(website *v1beta1.Website) []*corev1.ConfigMap {
	key := cache.NewObjectName(website.Namespace, resources.DeploymentName(website)).String()
	return slices.DeleteFunc(Indexed[*corev1.ConfigMap](c.index, byDeploymentName, key),
		func(configMap *corev1.ConfigMap) bool {
			return resources.IsAgentConfigMap(configMap.Name)
		})
}
