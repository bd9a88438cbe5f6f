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
	// DeploymentName is the name of the Deployment that serves the site; the
	// names of all other children derive from it. Immutable.
	DeploymentName string
	// Replicas is the number of pods that serve the site. Versioned defaults
	// set it before an object reaches the hub, so nil is seen only in objects
	// built in memory; zero is a request for no pods and is kept apart from it.
	Replicas *int32
	// Suspend keeps the site on the commit that it serves.
	Suspend bool
	// Source says what is published.
	Source WebsiteSource
	// Sync says how the pods follow the source.
	Sync WebsiteSync
	// Serving says how the files are served.
	Serving WebsiteServing
	// Service is the Service in front of the pods.
	Service WebsiteService
	// Resources are the compute resources of the containers of each pod.
	Resources WebsiteResources
	// Scheduling says on which nodes the pods may run.
	Scheduling WebsiteScheduling
}

// WebsiteStatus is the observed state of a Website.
type WebsiteStatus struct {
	// ObservedGeneration is the generation that this status is about.
	ObservedGeneration int64
	// Replicas is the number of pods that exist.
	Replicas int32
	// UpdatedReplicas is the number of pods of the shape that the spec asks for.
	UpdatedReplicas int32
	// ReadyReplicas is the number of pods that are ready.
	ReadyReplicas int32
	// AvailableReplicas is the number of pods that have been ready for at
	// least the Deployment's minReadySeconds.
	AvailableReplicas int32
	// Selector selects the pods, as a label selector query.
	Selector string
	// Commit is what every ready pod serves; empty while they differ.
	Commit string
	// NodePort is the port on every node, 0 if there is none.
	NodePort int32
	// Urls (as the linter of API names wants it) are addresses of the site, best first.
	Urls []string
	// Conditions are the latest observations of the site's state.
	Conditions []metav1.Condition
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteList is a list of Websites.
type WebsiteList struct {
	metav1.TypeMeta
	metav1.ListMeta

	// Items are the Websites of the list.
	Items []Website
}
