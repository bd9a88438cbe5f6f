// Package v1beta1 is the preferred version of the Website API and the one in
// which Websites are stored.
//
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=io.nevermosby.mycontroller.v1beta1
// +k8s:deepcopy-gen=package
// +k8s:conversion-gen=false
// +k8s:defaulter-gen=TypeMeta
// +k8s:validation-gen=TypesWithField=TypeMeta
// +groupName=mycontroller.nevermosby.io
// +groupGoName=Website
package v1beta1
