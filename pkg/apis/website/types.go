package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Website is a site published from a git repository.
type Website struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// Spec is the desired state.
	Spec WebsiteSpec
	// Status is the state that the controller last observed.
	Status WebsiteStatus
}

// WebsiteSpec is the desired state of a Website.
type WebsiteSpec struct {
	// DeploymentName is the name of the Deployment that serves the site; the
	// names of all other children derive from it. Immutable.
	DeploymentName string
	// Replicas is the number of pods. The versions default it, so nil occurs
	// only in objects built in memory; zero means no pods.
	Replicas *int32
	// Suspend stops following the repository; pods keep serving their commit. Nil is false.
	Suspend *bool
	// Source is the content to publish.
	Source WebsiteSource
	// Pin is the commit that is served instead of the newest one; nil for none.
	Pin *WebsitePin
	// Polling configures when the repository is fetched.
	Polling WebsitePolling
	// Serving configures the web server.
	Serving WebsiteServing
	// Service configures the Service of the pods.
	Service WebsiteService
	// Resources are the compute resources of the containers of each pod.
	Resources WebsiteResources
	// Storage configures the volume of each pod.
	Storage WebsiteStorage
	// Scheduling restricts the nodes of the pods.
	Scheduling WebsiteScheduling
	// Hosts are the hosts of the site, by their names.
	Hosts []WebsiteHost
	// Routing selects the Gateways or the Ingress that route requests for the hosts to the site.
	Routing WebsiteRouting
	// TLS selects the certificate of the hosts; nil leaves TLS to the Gateways or the Ingress.
	TLS *WebsiteTLS
	// Access restricts the visitors of the site.
	Access WebsiteAccess
	// Previews gives branches of the repository a site each; nil for none.
	Previews *WebsitePreviews
}

// WebsiteStatus is the observed state of a Website.
type WebsiteStatus struct {
	// ObservedGeneration is the metadata.generation of this status.
	ObservedGeneration int64
	// Replicas is the number of pods that exist.
	Replicas int32
	// UpdatedReplicas is the number of pods with the current pod template.
	UpdatedReplicas int32
	// ReadyReplicas is the number of pods that are ready.
	ReadyReplicas int32
	// AvailableReplicas is the number of pods that have been ready for at
	// least the Deployment's minReadySeconds.
	AvailableReplicas int32
	// Selector is the label selector of the pods, as a string.
	Selector string
	// Commit is the commit that every ready pod serves; empty while they differ.
	Commit string
	// NodePort is the port on every node; 0 without one.
	NodePort int32
	// URLs are the addresses of the site, preferred first.
	URLs []string
	// Conditions are Ready, Available, Progressing, Synced, with hosts Routed, and with
	// previews PreviewsReady.
	Conditions []metav1.Condition
	// Sync is the state of the requests to fetch the repository at once; nil without one.
	Sync *WebsiteSyncStatus
	// History are the last published commits, newest first.
	History []WebsiteRelease
	// Hosts are the observed states of the hosts, by their names.
	Hosts []WebsiteHostStatus
	// Previews are the observed states of branches with previews, in the order of their names.
	Previews []WebsitePreviewStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// WebsiteList is a list of Websites.
type WebsiteList struct {
	metav1.TypeMeta
	metav1.ListMeta

	// Items are the Websites.
	Items []Website
}
