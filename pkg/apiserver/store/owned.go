package store

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// childResources are those that website-controller makes children of.
var childResources = []schema.GroupVersionResource{
	appsv1.SchemeGroupVersion.WithResource("deployments"),
	corev1.SchemeGroupVersion.WithResource("services"),
	corev1.SchemeGroupVersion.WithResource("configmaps"),
	policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"),
	networkingv1.SchemeGroupVersion.WithResource("ingresses"),
	{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"},
	{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "listenersets"},
}

// OwnedResources are the resources that OwnedObjects lists.
func OwnedResources() []string {
	var names []string
	for _, resource := range childResources {
		names = append(names, resource.Resource)
	}
	return names
}

// OwnedObject is an object of the host cluster that a Website owns.
type OwnedObject struct {
	// Resource is the object's resource, such as deployments.
	Resource string
	// Namespace of the object and of its owner.
	Namespace string
	// Name of the object.
	Name string
	// Website is the name of its owner.
	Website string
	// UID is its owner's. The garbage collector goes by it, not by the name.
	UID types.UID
	// Controlled is true if that is its controller.
	Controlled bool
}

// OwnedObjects returns all objects of the host cluster of the kinds that
// website-controller creates and that a Website owns, whichever client created them:
// the garbage collector does not distinguish, either.
func OwnedObjects(ctx context.Context, client metadata.Interface) ([]OwnedObject, error) {
	var owned []OwnedObject
	for _, resource := range childResources {
		pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.Resource(resource).List(ctx, options)
		})
		err := pages.EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
			object := obj.(*metav1.PartialObjectMetadata)
			for _, owner := range object.OwnerReferences {
				group, err := schema.ParseGroupVersion(owner.APIVersion)
				if err != nil || group.Group != website.GroupName || owner.Kind != "Website" {
					continue
				}
				controlled := ptr.Deref(owner.Controller, false)
				owned = append(owned,
					OwnedObject{resource.Resource, object.Namespace, object.Name, owner.Name, owner.UID, controlled})
			}
			return nil
		})
		if apierrors.IsNotFound(err) {
			continue // The host cluster has no Gateway API, or an earlier one.
		}
		if err != nil {
			return nil, fmt.Errorf("listing %s of the host cluster: %w", resource.Resource, err)
		}
	}
	return owned, nil
}
