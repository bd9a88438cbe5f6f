package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=GetSync,verb=get,subresource=sync,result=WebsiteSyncRequest
// +genclient:method=Sync,verb=create,subresource=sync,input=WebsiteSyncRequest,result=WebsiteSyncRequest
// +genclient:method=Rollback,verb=create,subresource=rollback,input=WebsiteRollback,result=WebsiteRollback
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/status"
// +k8s:supportsSubresource="/scale"

// Website publishes a directory of a git repository as a website. The pods of a
// Deployment fetch and serve the repository, behind a Service.
type Website struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. The name must be a DNS-1123
	// label of at most 63 characters.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the Website.
	// +required
	Spec WebsiteSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`

	// status is the observed state of the Website, written by
	// website-controller through the status subresource.
	// +optional
	Status WebsiteStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// WebsiteSpec is the desired state of a Website.
type WebsiteSpec struct {
	// deploymentName is the name of the Deployment, from which the names of the
	// other children are derived. It must be a DNS-1035 label of at most 57
	// characters, and is immutable. An existing Deployment of this name that
	// the Website does not control is not changed; a condition reports it.
	// Defaults to metadata.name on creation; an update without it keeps the
	// name.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=57
	DeploymentName string `json:"deploymentName,omitempty" protobuf:"bytes,1,opt,name=deploymentName"`

	// replicas is the number of pods, at least 0. With 0 the site is offline.
	// Defaults to 1.
	// +optional
	// +default=1
	// +k8s:optional
	// +k8s:minimum=0
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`

	// suspend stops publishing: while it is true, only the commit of pin is published.
	// Unless pin is set, the server sets it to the last published commit, because only
	// the spec outlives the pods, and removes that pin when suspend is no longer true.
	// Without a published commit, pods keep serving their release, new pods serve
	// nothing, and the condition Synced has the reason SuspendedWithoutCommit. Defaults
	// to false.
	// +optional
	// +k8s:optional
	Suspend *bool `json:"suspend,omitempty" protobuf:"varint,3,opt,name=suspend"`

	// source is the content to publish.
	// +required
	Source WebsiteSource `json:"source,omitempty,omitzero" protobuf:"bytes,4,opt,name=source"`

	// polling configures when the repository is fetched.
	// +optional
	Polling WebsitePolling `json:"polling,omitempty,omitzero" protobuf:"bytes,5,opt,name=polling"`

	// serving configures the web server. Its redirects and headers are limited
	// by the size of the spec, at most 128 KiB as JSON, without default status
	// codes of redirects.
	// +optional
	Serving WebsiteServing `json:"serving,omitempty,omitzero" protobuf:"bytes,6,opt,name=serving"`

	// service configures the Service of the pods.
	// +optional
	Service WebsiteService `json:"service,omitempty,omitzero" protobuf:"bytes,7,opt,name=service"`

	// resources are the compute resources of the containers of each pod. Each
	// request and limit of cpu and memory that is not set has its own default,
	// adjusted so that no request exceeds its limit.
	// +optional
	Resources WebsiteResources `json:"resources,omitempty,omitzero" protobuf:"bytes,8,opt,name=resources"`

	// storage configures the volume of each pod with the repository and its releases.
	// +optional
	Storage WebsiteStorage `json:"storage,omitempty,omitzero" protobuf:"bytes,17,opt,name=storage"`

	// scheduling restricts the nodes of the pods.
	// +optional
	Scheduling WebsiteScheduling `json:"scheduling,omitempty,omitzero" protobuf:"bytes,9,opt,name=scheduling"`

	// pin is a commit to serve instead of the newest one. The repository is still
	// fetched, and removing pin publishes the newest commit at once. POST to the
	// subresource rollback sets it, and so does the server when suspend becomes true.
	// While suspend is true, a removed pin is replaced by one of the last published
	// commit. Defaults to none.
	// +optional
	// +k8s:optional
	Pin *WebsitePin `json:"pin,omitempty" protobuf:"bytes,10,opt,name=pin"`

	// hosts are the hosts of the site, at most 64. Of two Websites with the same host, in
	// any namespaces, the older one has it. Because an older Website could so take the
	// hosts of others, adding one requires use on websitehosts, with the host as name: see
	// --host-authorization of website-apiserver. Defaults to none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:maxItems=64
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Hosts []WebsiteHost `json:"hosts,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,11,rep,name=hosts"`

	// routing selects the Gateways or the Ingress that route requests for the
	// hosts to the site. It may only be set with hosts.
	// +optional
	Routing WebsiteRouting `json:"routing,omitempty,omitzero" protobuf:"bytes,13,opt,name=routing"`

	// tls serves the hosts with TLS, and selects their certificate. It may only be set
	// with hosts. Defaults to none: the hosts are served by all listeners of the Gateway
	// that accept them, with and without TLS, or by an Ingress without TLS, and no request
	// is redirected to https.
	// +optional
	// +k8s:optional
	TLS *WebsiteTLS `json:"tls,omitempty" protobuf:"bytes,14,opt,name=tls"`

	// access restricts the visitors of the site.
	// +optional
	Access WebsiteAccess `json:"access,omitempty,omitzero" protobuf:"bytes,15,opt,name=access"`

	// previews gives branches of the repository a site each. Defaults to none.
	// +optional
	// +k8s:optional
	Previews *WebsitePreviews `json:"previews,omitempty" protobuf:"bytes,16,opt,name=previews"`
}

// WebsiteStatus is the most recently observed state of a Website.
type WebsiteStatus struct {
	// observedGeneration is the metadata.generation of this status.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// replicas is the number of existing pods.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`

	// updatedReplicas is the number of pods with the current pod template.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty" protobuf:"varint,3,opt,name=updatedReplicas"`

	// readyReplicas is the number of ready pods.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,4,opt,name=readyReplicas"`

	// availableReplicas is the number of pods that have been ready for at least
	// the Deployment's minReadySeconds.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	AvailableReplicas int32 `json:"availableReplicas,omitempty" protobuf:"varint,5,opt,name=availableReplicas"`

	// selector is the label selector of the pods, as a string, for autoscalers.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1024
	Selector string `json:"selector,omitempty" protobuf:"bytes,6,opt,name=selector"`

	// commit is the git commit that every ready pod serves: 40 or 64
	// hexadecimal digits. It is empty while the pods serve different commits.
	// While pods are unreachable (condition Synced is Unknown), it is the last
	// observed commit.
	// +optional
	Commit string `json:"commit,omitempty" protobuf:"bytes,7,opt,name=commit"`

	// nodePort is the port of the Service on every node, from 1 to 65535, if it
	// has one.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:maximum=65535
	NodePort int32 `json:"nodePort,omitempty" protobuf:"varint,8,opt,name=nodePort"`

	// urls are the addresses of the site, at most 80, preferred first: one for each host,
	// beginning with the canonical one, and then the Service's. The address of a host is
	// listed once a request for it returned a published commit.
	// +optional
	// +listType=atomic
	// +k8s:optional
	// +k8s:maxItems=80
	URLs []string `json:"urls,omitempty" protobuf:"bytes,9,rep,name=urls"`

	// conditions are Ready, which summarizes the pods, the Service and the hosts, Available,
	// Progressing, Synced, with hosts Routed, and with previews PreviewsReady, on which Ready does
	// not depend; while they are True, Reconciling and Stalled. A host that another Website has makes
	// Stalled True at once, other reasons of Routed that a user has to resolve after 10 minutes, so
	// that clients do not give up while a Gateway or a certificate is being created.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:maxItems=32
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,10,rep,name=conditions"`

	// sync is the state of the requests to the subresource sync.
	// +optional
	// +k8s:optional
	Sync *WebsiteSyncStatus `json:"sync,omitempty" protobuf:"bytes,11,opt,name=sync"`

	// history contains the last published commits, at most 10, newest first.
	// +optional
	// +listType=atomic
	// +k8s:optional
	// +k8s:maxItems=10
	History []WebsiteRelease `json:"history,omitempty" protobuf:"bytes,12,rep,name=history"`

	// hosts are the observed states of the hosts of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +k8s:optional
	// +k8s:maxItems=64
	// +k8s:listType=map
	// +k8s:listMapKey=name
	Hosts []WebsiteHostStatus `json:"hosts,omitempty" protobuf:"bytes,13,rep,name=hosts"`

	// previews are the observed states of branches that have, or have had, a preview,
	// in the order of their names.
	// +optional
	// +listType=map
	// +listMapKey=branch
	// +k8s:optional
	// +k8s:maxItems=100
	// +k8s:listType=map
	// +k8s:listMapKey=branch
	Previews []WebsitePreviewStatus `json:"previews,omitempty" protobuf:"bytes,14,rep,name=previews"`
}

// Types of the conditions of a Website.
const (
	// WebsiteReady is true when the site is served according to the spec and
	// all pods are up to date. It stays true while the repository is
	// unreachable, and while hosts are not routed until WebsiteStalled is true
	// because of them.
	WebsiteReady = "Ready"
	// WebsiteAvailable is true when enough pods serve the site: all replicas
	// but one, and at least one.
	WebsiteAvailable = "Available"
	// WebsiteProgressing is true while pods are started or replaced.
	WebsiteProgressing = "Progressing"
	// WebsiteSynced is true when all ready pods serve the same commit and the
	// last fetch succeeded. It is Unknown while the Website is suspended.
	WebsiteSynced = "Synced"
	// WebsiteRouted is true when requests for the hosts reach the site. It is absent
	// without hosts.
	WebsiteRouted = "Routed"
	// WebsitePreviewsReady is true when the branches that match spec.previews have their
	// previews, as far as spec.previews.maxCount allows. It is absent without
	// spec.previews. WebsiteReady does not depend on it.
	WebsitePreviewsReady = "PreviewsReady"
	// WebsiteReconciling is true while the controller or Kubernetes works on the
	// site, and absent otherwise. kstatus reports InProgress then.
	WebsiteReconciling = "Reconciling"
	// WebsiteStalled is true when the site cannot reach the specified state before
	// a user acts, and absent otherwise. kstatus reports Failed then.
	WebsiteStalled = "Stalled"
)

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
