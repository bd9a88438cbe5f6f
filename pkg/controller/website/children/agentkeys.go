package children

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/metrics"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// AgentKeys reads and writes the ConfigMaps with the public keys for agents, one in each namespace
// with Websites. They have no owner: all Websites of the namespace would own it, and there may be
// thousands.
type AgentKeys struct {
	store  cache.Store
	cache  cache.MutationCache
	client func(namespace string) corev1client.ConfigMapInterface
}

// Apply creates or updates the ConfigMap of a namespace. It leaves a ConfigMap of another client
// alone. A ConfigMap that is missing in the cache is read: it may not have arrived yet, or lack the
// label on which the informer selects.
func (k *AgentKeys) Apply(ctx context.Context, namespace, keys string) *problem.Problem {
	client, name := k.client(namespace), resources.AgentKeysConfigMapName
	current := k.cached(namespace)
	shown := current != nil
	if !shown {
		read, err := client.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return problem.ClassifyOther(fmt.Errorf("reading ConfigMap %q: %w", name, err))
		case !isOurs(read):
			return problem.NameTaken("ConfigMap/"+name+"/"+string(read.UID), false,
				"ConfigMap %q exists already and is not of %s, so it is left alone; delete it", name, resources.ManagedBy)
		default:
			current = cached.OfConfigMap(read)
		}
	}
	desired := resources.AgentKeysConfigMap(namespace, keys)
	done, options := Created, metav1.ApplyOptions{FieldManager: cached.FieldManager}
	switch {
	case current == nil:
		desired.WithResourceVersion(neverStored)
	case !current.DeletionTimestamp.IsZero():
		return nil // The event of its deletion causes another creation.
	case current.Keys == keys &&
		(shown || current.Labels[resources.LabelManagedBy] == resources.ManagedBy):
		return nil
	default:
		desired.WithUID(current.UID)
		options.Force, done = true, Updated
	}
	applied, err := client.Apply(ctx, desired, options)
	if err != nil {
		return problem.Classify(fmt.Errorf("writing ConfigMap %q: %w", name, err))
	}
	k.cache.Mutation(cached.OfConfigMap(applied))
	metrics.RecordChildWrite("ConfigMap", string(done))
	return nil
}

// Delete removes the ConfigMap of a namespace if the cache has one.
func (k *AgentKeys) Delete(ctx context.Context, namespace string) *problem.Problem {
	current := k.cached(namespace)
	if current == nil || !current.DeletionTimestamp.IsZero() {
		return nil
	}
	err := k.client(namespace).Delete(ctx, current.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: ptr.To(current.UID)},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return problem.Classify(fmt.Errorf("deleting ConfigMap %q: %w", current.Name, err))
	}
	metrics.RecordChildWrite("ConfigMap", string(Deleted))
	return nil
}

// All returns the names of all such ConfigMaps in the cache.
func (k *AgentKeys) All() []cache.ObjectName {
	var names []cache.ObjectName
	for _, key := range k.store.ListKeys() {
		if name, err := cache.ParseObjectName(key); err == nil && name.Name == resources.AgentKeysConfigMapName {
			names = append(names, name)
		}
	}
	return names
}

// isOurs reports whether the controller has written a ConfigMap. Backups keep the label, but some
// drop the managed fields.
func isOurs(configMap *corev1.ConfigMap) bool {
	return configMap.Labels[resources.LabelManagedBy] == resources.ManagedBy ||
		slices.ContainsFunc(configMap.ManagedFields,
			func(m metav1.ManagedFieldsEntry) bool { return m.Manager == cached.FieldManager })
}

func (k *AgentKeys) cached(namespace string) *cached.ConfigMap {
	obj, exists, err := k.cache.GetByKey(cache.NewObjectName(namespace, resources.AgentKeysConfigMapName).String())
	if configMap, ok := obj.(*cached.ConfigMap); err == nil && exists && ok {
		return configMap
	}
	return nil
}
