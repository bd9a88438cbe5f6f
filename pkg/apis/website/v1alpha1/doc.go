// Package v1alpha1 is the original version of the Website API: one repository,
// one Deployment, a number of replicas. It is frozen, so that manifests and
// clients written for the original CustomResourceDefinition keep working.
//
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.nevermosby.mycontroller.v1alpha1
// +k8s:deepcopy-gen=package
// +k8s:conversion-gen=github.com/kubesites/website-apiserver/pkg/apis/website
// +k8s:defaulter-gen=TypeMeta
// +groupName=mycontroller.nevermosby.io
// +groupGoName=Website
package v1alpha1
