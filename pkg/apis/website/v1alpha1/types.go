package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Website publishes the files of a git repository as a website. The pods of a
// Deployment fetch and serve the repository, behind a Service of type NodePort.
type Website struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. The name must be a DNS-1123
	// label of at most 63 characters.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the Website.
	// +optional
	Spec WebsiteSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the observed state of the Website, written by
	// website-controller through the status subresource.
	// +optional
	Status WebsiteStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// WebsiteSpec is the desired state of a Website.
type WebsiteSpec struct {
	// gitRepo is the address of the git repository: an https://, http:// or
	// ssh:// URL, or user@host:path, of at most 2048 characters. It must not
	// contain white space, control characters, '$', a query string or a
	// fragment, nor, in an http(s) URL, a user name or password. The branch of
	// the remote's HEAD is published.
	GitRepo string `json:"gitRepo" protobuf:"bytes,1,opt,name=gitRepo"`

	// deploymentName is the name of the Deployment; the Service is called
	// <deploymentName>-npsvc. It must be a DNS-1035 label of at most 57
	// characters, and is immutable. An existing Deployment of this name that
	// the Website does not control is not changed; an event reports it.
	DeploymentName string `json:"deploymentName" protobuf:"bytes,2,opt,name=deploymentName"`

	// replicas is the number of pods, at least 0. With 0 the site is offline.
	// Defaults to 1.
	// +optional
	// +default=1
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,3,opt,name=replicas"`
}

// WebsiteStatus is the most recently observed state of a Website.
type WebsiteStatus struct {
	// availableReplicas is the number of available pods.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas" protobuf:"varint,1,opt,name=availableReplicas"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteList is a list of Websites.
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the Websites.
	Items []Website `json:"items" protobuf:"bytes,2,rep,name=items"`
}
