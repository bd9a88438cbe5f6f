package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/status"
// +k8s:supportsSubresource="/scale"

// Website publishes a directory of a git repository as a website. For each
// Website there is a Deployment, whose pods fetch the repository and serve it,
// and a Service in front of them.
type Website struct {
	// +k8s:opaqueType
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata. The name of a Website must be a DNS-1123
	// label (at most 63 characters), because it becomes a label value of the
	// children.
	// More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata
	// +optional
	// +k8s:opaqueType
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state of the website.
	// +required
	Spec WebsiteSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`

	// status is the most recently observed state of the website. It is
	// written by website-controller and can only be changed through the status
	// subresource.
	// +optional
	Status WebsiteStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// WebsiteSpec is the desired state of a Website.
type WebsiteSpec struct {
	// deploymentName is the name of the Deployment that serves the site; the
	// names of the other children derive from it. It must be a DNS-1035 label
	// of at most 57 characters and cannot be changed after creation. When a
	// Deployment of this name exists that belongs to something else, it is
	// left alone and a condition of the Website says so. Defaults to the name
	// of the Website.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=57
	DeploymentName string `json:"deploymentName,omitempty" protobuf:"bytes,1,opt,name=deploymentName"`

	// replicas is the number of pods that serve the site. It must not be
	// negative; 0 takes the site offline. Defaults to 1.
	// +optional
	// +default=1
	// +k8s:optional
	// +k8s:minimum=0
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`

	// suspend keeps the site on the commit that it serves: its pods go on, and
	// stop following the repository until suspend is false again. Pods that are
	// added or replaced meanwhile fetch that commit. Changes of the rest of the
	// spec are acted on, except for those of source.ref. Defaults to false.
	// +optional
	Suspend bool `json:"suspend,omitempty" protobuf:"varint,3,opt,name=suspend"`

	// source says what is published.
	// +required
	Source WebsiteSource `json:"source" protobuf:"bytes,4,opt,name=source"`

	// sync says how the pods follow the source.
	// +optional
	Sync WebsiteSync `json:"sync,omitempty,omitzero" protobuf:"bytes,5,opt,name=sync"`

	// serving says how the files are served.
	// +optional
	Serving WebsiteServing `json:"serving,omitempty,omitzero" protobuf:"bytes,6,opt,name=serving"`

	// service is the Service in front of the pods.
	// +optional
	Service WebsiteService `json:"service,omitempty,omitzero" protobuf:"bytes,7,opt,name=service"`

	// resources are the compute resources of the containers of each pod.
	// Whatever is not set here is chosen by website-controller.
	// +optional
	Resources WebsiteResources `json:"resources,omitempty,omitzero" protobuf:"bytes,8,opt,name=resources"`

	// scheduling says on which nodes the pods may run.
	// +optional
	Scheduling WebsiteScheduling `json:"scheduling,omitempty,omitzero" protobuf:"bytes,9,opt,name=scheduling"`
}

// WebsiteStatus is the most recently observed state of a Website.
type WebsiteStatus struct {
	// observedGeneration is the metadata.generation that this status is about.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`

	// replicas is the number of pods that exist for the site.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	Replicas int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`

	// updatedReplicas is the number of those pods that have the shape that the
	// spec asks for.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty" protobuf:"varint,3,opt,name=updatedReplicas"`

	// readyReplicas is the number of those pods that are ready to serve.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	ReadyReplicas int32 `json:"readyReplicas,omitempty" protobuf:"varint,4,opt,name=readyReplicas"`

	// availableReplicas is the number of those pods that have been ready for
	// at least the Deployment's minReadySeconds.
	// +optional
	// +k8s:optional
	// +k8s:minimum=0
	AvailableReplicas int32 `json:"availableReplicas,omitempty" protobuf:"varint,5,opt,name=availableReplicas"`

	// selector selects the pods of the site, in the form of a label selector
	// query. Autoscalers find by it what they measure.
	// +optional
	// +k8s:optional
	// +k8s:maxLength=1024
	Selector string `json:"selector,omitempty" protobuf:"bytes,6,opt,name=selector"`

	// commit is the git commit that every ready pod serves: 40 or 64
	// hexadecimal digits. It is empty while they differ, and what they served
	// last while the condition Synced is Unknown because they do not answer.
	// +optional
	Commit string `json:"commit,omitempty" protobuf:"bytes,7,opt,name=commit"`

	// nodePort is the port on which every node of the cluster serves the site,
	// where the Service has one.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:maximum=65535
	NodePort int32 `json:"nodePort,omitempty" protobuf:"varint,8,opt,name=nodePort"`

	// urls are addresses under which the site can be reached, best first.
	// +optional
	// +listType=atomic
	// +k8s:optional
	// +k8s:maxItems=16
	Urls []string `json:"urls,omitempty" protobuf:"bytes,9,rep,name=urls"`

	// conditions are the latest observations of the site's state: Ready, which
	// sums up the others, Available, Progressing and Synced.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:maxItems=32
	// +k8s:eachVal=+k8s:opaqueType
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,10,rep,name=conditions"`
}

// Types of the conditions of a Website.
const (
	// WebsiteReady is true when the site is served as the spec says, by pods of
	// the shape that it asks for. It stays true while the repository is away.
	WebsiteReady = "Ready"
	// WebsiteAvailable is true when enough pods serve the site: all that are
	// asked for but one, and at least one.
	WebsiteAvailable = "Available"
	// WebsiteProgressing is true while pods are replaced or started.
	WebsiteProgressing = "Progressing"
	// WebsiteSynced is true when all ready pods serve the same commit, and the
	// repository could be reached when it was last looked at. It is Unknown
	// while the site is suspended.
	WebsiteSynced = "Synced"
)

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
