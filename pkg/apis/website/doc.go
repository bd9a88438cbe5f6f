// Package website contains the internal types of the API group
// mycontroller.nevermosby.io. Every served version is converted to and from
// these types, which are never serialized.
//
// +k8s:deepcopy-gen=package
// +groupName=mycontroller.nevermosby.io
package website
