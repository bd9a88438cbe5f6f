package children

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

const (
	// byDeploymentName indexes ConfigMaps by the deployment name in their names.
	byDeploymentName = "namespace/deploymentName"
	// byConfigMap indexes ReplicaSets by the ConfigMaps that their pods mount.
	byConfigMap = "namespace/configMap"
)

// ConfigMaps reads and writes the nginx configurations of Websites. A Website has one
// for each configuration that a pod could still be started with.
type ConfigMaps struct {
	*Kind[*corev1.ConfigMap, *cached.ConfigMap, *corev1ac.ConfigMapApplyConfiguration]
	kube        kubernetes.Interface
	index       cache.Indexer
	replicaSets cache.Indexer
}

// configMapKind is the Kind of all ConfigMaps.
type configMapKind = Kind[*corev1.ConfigMap, *cached.ConfigMap, *corev1ac.ConfigMapApplyConfiguration]

func newConfigMapKind(kube kubernetes.Interface, store cache.Store, owners Owners) *configMapKind {
	return newKind("ConfigMap", owners, store, kube.CoreV1().ConfigMaps, cached.ConfigMaps, cached.OfConfigMap)
}

func newConfigMaps(kube kubernetes.Interface, informers kubeinformers.SharedInformerFactory,
	owners Owners) (*ConfigMaps, error) {
	configMaps, replicaSets := informers.Core().V1().ConfigMaps().Informer(),
		informers.Apps().V1().ReplicaSets().Informer()
	if err := configMaps.AddIndexers(cache.Indexers{byDeploymentName: func(obj any) ([]string, error) {
		configMap, ok := obj.(*cached.ConfigMap)
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
		replicaSet, ok := obj.(*cached.ReplicaSet)
		if !ok {
			return nil, nil
		}
		var keys []string
		for _, name := range replicaSet.NginxConfigMaps {
			keys = append(keys, cache.NewObjectName(replicaSet.Namespace, name).String())
		}
		return keys, nil
	}}); err != nil {
		return nil, fmt.Errorf("indexing ReplicaSets: %w", err)
	}
	kind := newConfigMapKind(kube, configMaps.GetStore(), owners)
	return &ConfigMaps{Kind: kind, kube: kube, index: configMaps.GetIndexer(), replicaSets: replicaSets.GetIndexer()}, nil
}

// Apply creates or updates the ConfigMap of a configuration. The controller has not made an immutable
// one with other content under its name.
func (c *ConfigMaps) Apply(ctx context.Context, website *v1beta1.Website, child *cached.ConfigMap,
	desired *corev1ac.ConfigMapApplyConfiguration) (*cached.ConfigMap, Operation, *problem.Problem) {
	if child == nil || !child.Immutable {
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

// HoldsAny reports whether the cache has a ConfigMap of the Website.
func (c *ConfigMaps) HoldsAny(website *v1beta1.Website) bool {
	for _, configMap := range c.named(website) {
		if metav1.IsControlledBy(configMap.GetObjectMeta(), website) {
			return true
		}
	}
	return false
}

// named returns the cached nginx configurations with the deployment name of a Website.
func (c *ConfigMaps) named(website *v1beta1.Website) []*cached.ConfigMap {
	key := cache.NewObjectName(website.Namespace, resources.DeploymentName(website)).String()
	return slices.DeleteFunc(cached.Indexed[*cached.ConfigMap](c.index, byDeploymentName, key),
		func(configMap *cached.ConfigMap) bool {
			return resources.IsAgentConfigMap(configMap.Name)
		})
}

// TemplateHash returns the label pod-template-hash of the pods with the current pod template of a
// Deployment. It is empty while the cache lacks a ReplicaSet with that template. The age of pods is
// no indication: a lost pod of an earlier template is replaced by one with the same template.
func (c *ConfigMaps) TemplateHash(deployment *cached.Deployment) string {
	if deployment.Revision == "" {
		return ""
	}
	for _, name := range deployment.NginxConfigMaps {
		key := cache.NewObjectName(deployment.Namespace, name).String()
		for _, replicaSet := range cached.Indexed[*cached.ReplicaSet](c.replicaSets, byConfigMap, key) {
			if replicaSet.Revision != deployment.Revision {
				continue
			}
			if hash, ok := strings.CutPrefix(replicaSet.Name, deployment.Name+"-"); ok {
				return hash
			}
		}
	}
	return ""
}
