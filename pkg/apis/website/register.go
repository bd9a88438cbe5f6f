package website

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of Website. It is the group of the original
// Website CustomResourceDefinition, so that manifests written for that keep
// working unchanged.
const GroupName = "mycontroller.nevermosby.io"

// SchemeGroupVersion is the group and the internal version.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: runtime.APIVersionInternal}

var (
	// SchemeBuilder collects the functions that register the internal types, and the generated conversions.
	SchemeBuilder      = runtime.NewSchemeBuilder(addKnownTypes)
	localSchemeBuilder = &SchemeBuilder
	// AddToScheme registers the internal types with a scheme.
	AddToScheme = localSchemeBuilder.AddToScheme
)

// Kind qualifies an unqualified kind with the group.
func Kind(kind string) schema.GroupKind {
	return SchemeGroupVersion.WithKind(kind).GroupKind()
}

// Resource qualifies an unqualified resource with the group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&Website{},
		&WebsiteList{},
		&WebsiteSyncOptions{},
		&WebsiteSyncRequest{},
		&WebsiteRollback{},
	)
	return nil
}
