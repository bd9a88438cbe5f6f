package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Website publishes the files of a git repository as a website. For each
// Website there is a Deployment, whose pods fetch the repository and serve it,
// and a Service of type NodePort in front of them.
type Website struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata. The name of a Website must be a DNS-1123
	// label (at most 63 characters), because it becomes a label value of the
	// children.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the website.
	// +optional
	Spec WebsiteSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`

	// status is the most recently observed state of the website. It is
	// written by website-controller and can only be changed through the status
	// subresource.
	// +optional
	Status WebsiteStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// WebsiteSpec is the desired state of a Website.
type WebsiteSpec struct {
	// gitRepo is the git repository whose files are served: an https://,
	// http:// or ssh:// URL, or user@host:path. At most 2048 characters,
	// without white space, control characters, '$', a query string or a
	// fragment, and without a user name or password in an http(s) URL. The
	// branch that the remote's HEAD names is followed. Required.
	GitRepo string `json:"gitRepo" protobuf:"bytes,1,opt,name=gitRepo"`

	// deploymentName is the name of the Deployment that serves the site. The
	// Service is called <deploymentName>-npsvc. It must be a DNS-1035 label of
	// at most 57 characters and cannot be changed after creation. When a
	// Deployment of this name exists that belongs to something else, it is
	// left alone and an event on the Website says so. Required.
	DeploymentName string `json:"deploymentName" protobuf:"bytes,2,opt,name=deploymentName"`

	// replicas is the number of pods that serve the site. It must not be
	// negative; 0 takes the site offline. Defaults to 1.
	// +optional
	// +default=1
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,3,opt,name=replicas"`
}

// WebsiteStatus is the most recently observed state of a Website.
type WebsiteStatus struct {
	// availableReplicas is the number of pods that are ready to serve the
	// site.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas" protobuf:"varint,1,opt,name=availableReplicas"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteList is a list of Websites.
type WebsiteList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the Websites of the list.
	Items []Website `json:"items" protobuf:"bytes,2,rep,name=items"`
}
