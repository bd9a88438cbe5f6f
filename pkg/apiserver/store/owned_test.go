package store

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestOwnedObjects: all that the garbage collector would delete with a Website, on a host with an earlier Gateway API.
func TestOwnedObjects(t *testing.T) {
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	owned := func(group, kind string) runtime.Object {
		return &metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: schema.GroupVersion{Group: group, Version: "v1"}.String(), Kind: kind},
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "of-site", OwnerReferences: []metav1.OwnerReference{
				{APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: "Website", Name: "site", UID: "uid-of-site"},
			}},
		}
	}
	client := metadatafake.NewSimpleMetadataClient(scheme, owned("apps", "Deployment"), owned("", "Service"),
		owned("", "ConfigMap"),
		owned("policy", "PodDisruptionBudget"), owned("networking.k8s.io", "Ingress"),
		owned("gateway.networking.k8s.io", "HTTPRoute"))
	client.PrependReactor("list", "listenersets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(action.GetResource().GroupResource(), "")
	})
	found, err := OwnedObjects(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	var resources []string
	for _, object := range found {
		resources = append(resources, object.Resource)
	}
	if want := []string{"deployments", "services", "configmaps", "poddisruptionbudgets", "ingresses",
		"httproutes"}; !slices.Equal(resources, want) {
		t.Errorf("found %v, want %v", resources, want)
	}
}
