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

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// AgentKeys reads and writes the ConfigMaps with the public keys for agents, one in each namespace with Websites.
// They have no owner: it would be each of the Websites, of which a namespace may have thousands.
type AgentKeys struct {
	store  cache.Store
	cache  cache.MutationCache
	client func(namespace string) corev1client.ConfigMapInterface
}

// Apply creates or updates the ConfigMap of a namespace. One that another client has created is left alone.
func (k *AgentKeys) Apply(ctx context.Context, namespace, keys string) (Operation, *problem.Problem) {
	current := k.cached(namespace)
	if current != nil && (current.Data[requests.KeysFile] == keys || !current.DeletionTimestamp.IsZero()) {
		return Unchanged, nil // The event of its deletion has it created again.
	}
	client, name := k.client(namespace), resources.AgentKeysConfigMapName
	desired, done := resources.AgentKeysConfigMap(namespace, keys), Created
	options := metav1.ApplyOptions{FieldManager: FieldManager}
	var applied *corev1.ConfigMap
	var err error
	if current == nil {
		applied, err = client.Apply(ctx, desired.WithResourceVersion(neverStored), options)
		if apierrors.IsConflict(err) {
			// It exists, and may lack the label by which the informer selects.
			if current, err = client.Get(ctx, name, metav1.GetOptions{}); err == nil && !isOurs(current) {
				return Unchanged, problem.NameTaken("ConfigMap/"+name+"/"+string(current.UID), false,
					"ConfigMap %q exists already and is not of %s, so it is left alone; delete it", name, resources.ManagedBy)
			}
		}
	}
	if current != nil && err == nil {
		desired.ResourceVersion, options.Force, done = nil, true, Updated
		applied, err = client.Apply(ctx, desired.WithUID(current.UID), options)
	}
	if err != nil {
		return Unchanged, problem.Classify(fmt.Errorf("writing ConfigMap %q: %w", name, err))
	}
	Trim(applied)
	k.cache.Mutation(applied)
	return done, nil
}

// Delete removes the ConfigMap of a namespace if the cache shows one.
func (k *AgentKeys) Delete(ctx context.Context, namespace string) (Operation, *problem.Problem) {
	current := k.cached(namespace)
	if current == nil || !current.DeletionTimestamp.IsZero() {
		return Unchanged, nil
	}
	err := k.client(namespace).Delete(ctx, current.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: ptr.To(current.UID)},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return Unchanged, problem.Classify(fmt.Errorf("deleting ConfigMap %q: %w", current.Name, err))
	}
	return Deleted, nil
}

// All returns the names of all such ConfigMaps that the cache shows.
func (k *AgentKeys) All() []cache.ObjectName {
	var names []cache.ObjectName
	for _, key := range k.store.ListKeys() {
		if name, err := cache.ParseObjectName(key); err == nil && name.Name == resources.AgentKeysConfigMapName {
			names = append(names, name)
		}
	}
	return names
}

// isOurs reports whether the controller has written a ConfigMap. Backups keep the label, but not all of them keep
// managed fields.
func isOurs(configMap *corev1.ConfigMap) bool {
	return configMap.Labels[resources.LabelManagedBy] == resources.ManagedBy ||
		slices.ContainsFunc(configMap.ManagedFields,
			func(m metav1.ManagedFieldsEntry) bool { return m.Manager == FieldManager })
}

func (k *AgentKeys) cached(namespace string) *corev1.ConfigMap {
	obj, exists, err := k.cache.GetByKey(cache.NewObjectName(namespace, resources.AgentKeysConfigMapName).String())
	if configMap, ok := obj.(*corev1.ConfigMap); err == nil && exists && ok {
		return configMap
	}
	return nil
}
