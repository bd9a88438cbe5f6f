package apiserver

import (
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
)

// NewScheme returns a scheme with every type that the server reads or writes,
// and the codecs of these types.
func NewScheme() (*runtime.Scheme, serializer.CodecFactory, error) {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		return nil, serializer.CodecFactory{}, fmt.Errorf("registering the website API group: %w", err)
	}

	// The scale subresource uses autoscaling/v1. The server registers no internal
	// type for Scale, so the v1 type serves as the internal version, too.
	scheme.AddKnownTypes(autoscalingv1.SchemeGroupVersion, &autoscalingv1.Scale{})
	scheme.AddKnownTypes(schema.GroupVersion{Group: autoscalingv1.GroupName, Version: runtime.APIVersionInternal},
		&autoscalingv1.Scale{})

	// The generic API server decodes ListOptions and similar types in the core
	// group's version and responds with these unversioned types.
	coreV1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, coreV1)
	scheme.AddUnversionedTypes(coreV1,
		&metav1.Status{},
		&metav1.APIVersions{},
		&metav1.APIGroupList{},
		&metav1.APIGroup{},
		&metav1.APIResourceList{},
	)
	return scheme, serializer.NewCodecFactory(scheme), nil
}
