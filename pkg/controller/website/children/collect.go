package children

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// Collect deletes the configurations with which no pod of a Website can be started any more: neither
// the Deployment nor one of its ReplicaSets or pods refers to them. Those for ReplicaSets without
// pods stay as well: `kubectl rollout undo` starts pods from them. Orphans are adopted, so that they
// are deleted with the Website at the latest.
//
// The caches only save requests to the API server. Before a deletion, everything is read from there,
// in the order in which references are passed on: a ReplicaSet comes from the Deployment, a pod from
// a ReplicaSet.
func (c *ConfigMaps) Collect(ctx context.Context, website *v1beta1.Website, deployment *cached.Deployment,
	current *corev1ac.ConfigMapApplyConfiguration) *problem.Problem {
	var unused []*cached.ConfigMap
	mounted := sets.New(deployment.NginxConfigMaps...).Insert(*current.GetName())
	for _, configMap := range c.named(website) {
		switch {
		case mounted.Has(configMap.Name) || !configMap.DeletionTimestamp.IsZero():
		case c.isOrphanOf(website, configMap):
			if p := c.adopt(ctx, website, configMap.Name, current); p != nil {
				return p
			}
		case metav1.IsControlledBy(configMap.GetObjectMeta(), website) && !c.isMounted(configMap):
			unused = append(unused, configMap)
		}
	}
	// Before it has observed the current template, the Deployment controller may still create a
	// ReplicaSet for an earlier one.
	if len(unused) == 0 || deployment.Status.ObservedGeneration < deployment.Generation {
		return nil
	}
	mounted, p := c.mounted(ctx, website, deployment.Name)
	if p != nil || !mounted.Has(*current.GetName()) {
		return p
	}
	for _, configMap := range unused {
		if mounted.Has(configMap.Name) {
			continue
		}
		if _, p := c.Delete(ctx, website, configMap.Name); p != nil {
			return p
		}
	}
	return nil
}

// isMounted reports whether the cache has a ReplicaSet whose pods mount a ConfigMap.
func (c *ConfigMaps) isMounted(configMap *cached.ConfigMap) bool {
	keys, err := c.replicaSets.IndexKeys(byConfigMap, cache.NewObjectName(configMap.Namespace, configMap.Name).String())
	return err != nil || len(keys) > 0
}

// mounted returns the ConfigMaps that pods of a Deployment mount, or would mount, according to the
// API server. It is empty when there is no such Deployment of the Website, or the Deployment
// controller has not observed it.
func (c *ConfigMaps) mounted(ctx context.Context, website *v1beta1.Website, deploymentName string) (sets.Set[string],
	*problem.Problem) {
	names := sets.New[string]()
	apps := c.kube.AppsV1()
	deployment, err := apps.Deployments(website.Namespace).Get(ctx, deploymentName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return names, nil
	case err != nil:
		return nil, problem.ClassifyOther(fmt.Errorf("reading Deployment %q before old ConfigMaps are deleted: %w",
			deploymentName, err))
	case !metav1.IsControlledBy(deployment, website) || deployment.Status.ObservedGeneration < deployment.Generation:
		return names, nil
	}
	names.Insert(cached.MountedConfigMaps(&deployment.Spec.Template.Spec)...)

	ofDeployment := metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(deployment.Spec.Selector)}
	replicaSets, err := apps.ReplicaSets(website.Namespace).List(ctx, ofDeployment)
	if err != nil {
		return nil, problem.ClassifyOther(
			fmt.Errorf("listing the ReplicaSets of Deployment %q before old ConfigMaps are deleted: %w", deploymentName, err),
		)
	}
	for i := range replicaSets.Items {
		names.Insert(cached.MountedConfigMaps(&replicaSets.Items[i].Spec.Template.Spec)...)
	}
	pods, err := c.kube.CoreV1().Pods(website.Namespace).List(ctx, ofDeployment)
	if err != nil {
		return nil, problem.ClassifyOther(
			fmt.Errorf("listing the pods of Deployment %q before old ConfigMaps are deleted: %w", deploymentName, err),
		)
	}
	for i := range pods.Items {
		names.Insert(cached.MountedConfigMaps(&pods.Items[i].Spec)...)
	}
	return names, nil
}

// adopt makes a Website the owner of an earlier configuration that has none. The applied fields are
// applied again with an owner: an apply without the content would remove it.
func (c *ConfigMaps) adopt(ctx context.Context, website *v1beta1.Website, name string,
	current *corev1ac.ConfigMapApplyConfiguration) *problem.Problem {
	client := c.client(website.Namespace)
	orphan, err := client.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return problem.ClassifyOther(fmt.Errorf("reading %s %q: %w", c.name, name, err))
	case !c.isOrphanOf(website, c.trim(orphan)):
		return nil
	}
	if p := c.MayOwn(ctx, website, name); p != nil {
		return p
	}
	applied, err := c.Extract(orphan, cached.FieldManager)
	if err != nil {
		return problem.Classify(fmt.Errorf("extracting the applied fields of %s %q: %w", c.name, name, err))
	}
	applied.OwnerReferences = current.OwnerReferences
	adopted, err := client.Apply(ctx, applied.WithUID(orphan.UID),
		metav1.ApplyOptions{FieldManager: cached.FieldManager, Force: true})
	if err != nil {
		return problem.Classify(fmt.Errorf("adopting %s %q: %w", c.name, name, err))
	}
	c.Remember(adopted)
	c.counted(Adopted)
	return nil
}
