package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Website is a site published from a git repository.
type Website struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// Spec is what the user asks for.
	Spec WebsiteSpec
	// Status is what the controller last observed.
	Status WebsiteStatus
}

// WebsiteSpec is the desired state of a Website.
type WebsiteSpec struct {
	// GitRepo is the git repository whose files are served.
	GitRepo string
	// DeploymentName is the name of the Deployment that serves the site; the
	// names of all other children derive from it. Immutable.
	DeploymentName string
	// Replicas is the number of pods that serve the site. Versioned defaults
	// set it before an object reaches the hub, so nil is seen only in objects
	// built in memory; zero is a request for no pods and is kept apart from it.
	Replicas *int32
}

// WebsiteStatus is the observed state of a Website.
type WebsiteStatus struct {
	// AvailableReplicas is the number of pods that have been ready for at
	// least the Deployment's minReadySeconds.
	AvailableReplicas int32
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteList is a list of Websites.
type WebsiteList struct {
	metav1.TypeMeta
	metav1.ListMeta

	// Items are the Websites of the list.
	Items []Website
}
