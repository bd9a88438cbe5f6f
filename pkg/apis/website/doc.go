// Package website holds the internal (hub) types of the API group
// mycontroller.nevermosby.io. Every served version converts to and from these
// types; they are never serialized, so they can change when a version is added.
//
// +k8s:deepcopy-gen=package
// +groupName=mycontroller.nevermosby.io
package website
