// Package website contains the internal types of the API group
// mycontroller.nevermosby.io. Every served version is converted to and from
// these types, which are never serialized.
//
// +k8s:deepcopy-gen=package
// +k8s:conversion-gen=github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1
// +groupName=mycontroller.nevermosby.io
package website
