package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// WebsiteService configures the Service of the pods.
type WebsiteService struct {
	// type is the type of the Service: ClusterIP, NodePort or LoadBalancer. The
	// latter two open the site to clients outside the cluster, so that setting
	// them requires expose on the Website. Defaults to ClusterIP, as in a Service.
	// +optional
	// +default="ClusterIP"
	// +k8s:optional
	Type ServiceType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=ServiceType"`

	// nodePort is the port on every node, from 1 to 65535 and within the node
	// port range of the cluster. It may only be set with the types NodePort and
	// LoadBalancer. By default the cluster allocates one.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:maximum=65535
	NodePort int32 `json:"nodePort,omitempty" protobuf:"varint,2,opt,name=nodePort"`

	// loadBalancerClass is the class of the load balancer, a label name. It may only
	// be set with the type LoadBalancer, and not change as long as that is the type.
	// Defaults to the load balancer of the cloud provider.
	// +optional
	// +k8s:optional
	LoadBalancerClass string `json:"loadBalancerClass,omitempty" protobuf:"bytes,3,opt,name=loadBalancerClass"`

	// annotations are set on the Service, at most 4 KiB as JSON. Their keys must be
	// allowed by --allowed-service-annotations of website-apiserver, and setting them
	// requires expose. With server-side apply, each key has its own managers. Defaults to
	// none.
	// +optional
	// +mapType=granular
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,4,rep,name=annotations"`
}

// ServiceType is the type of the Service. More values may be added. A client that
// does not know a value must keep it, and must not take it for the default.
// +enum
// +k8s:enum
type ServiceType string

const (
	// ServiceTypeClusterIP makes the site reachable within the cluster only.
	ServiceTypeClusterIP ServiceType = "ClusterIP"
	// ServiceTypeNodePort makes the site reachable on a port of every node.
	ServiceTypeNodePort ServiceType = "NodePort"
	// ServiceTypeLoadBalancer requests a load balancer from the cloud provider.
	ServiceTypeLoadBalancer ServiceType = "LoadBalancer"
)

// WebsiteResources are the compute resources of the containers of each pod.
type WebsiteResources struct {
	// server is for the container that serves the files. Requests and limits of
	// cpu, memory and ephemeral-storage may be set; they are rounded up to
	// thousandths. Defaults to requests of cpu 10m and memory 16Mi, and limits
	// of cpu 1 and memory 128Mi.
	// +optional
	// +k8s:opaqueType
	Server corev1.ResourceRequirements `json:"server,omitempty,omitzero" protobuf:"bytes,1,opt,name=server"`

	// sync is for the container that fetches the repository. Requests and limits
	// of cpu, memory and ephemeral-storage may be set; they are rounded up to
	// thousandths. Defaults to requests of cpu 10m and memory 32Mi, limits of
	// cpu 1 and memory 256Mi, and an eighth of storage.sizeLimit requested as
	// ephemeral-storage, whose limit is 1376Mi above the sizeLimit.
	// +optional
	// +k8s:opaqueType
	Sync corev1.ResourceRequirements `json:"sync,omitempty,omitzero" protobuf:"bytes,2,opt,name=sync"`
}

// WebsiteStorage configures the volume of each pod with the repository and its releases.
type WebsiteStorage struct {
	// sizeLimit is the size limit of the volume, an emptyDir, in bytes, from 64Mi to 16Ti.
	// Earlier releases are removed to stay below; a commit that does not fit beside the
	// published one is refused. Defaults to 2Gi.
	// +optional
	// +k8s:optional
	// +k8s:opaqueType
	SizeLimit *resource.Quantity `json:"sizeLimit,omitempty" protobuf:"bytes,1,opt,name=sizeLimit"`
}

// WebsiteScheduling restricts the nodes of the pods.
type WebsiteScheduling struct {
	// nodeSelector contains the labels that a node must have. Defaults to none.
	// +optional
	// +mapType=atomic
	NodeSelector map[string]string `json:"nodeSelector,omitempty" protobuf:"bytes,1,rep,name=nodeSelector"`

	// tolerations allow nodes with matching taints. Defaults to none.
	// +optional
	// +listType=atomic
	// +k8s:eachVal=+k8s:opaqueType
	Tolerations []corev1.Toleration `json:"tolerations,omitempty" protobuf:"bytes,2,rep,name=tolerations"`
}
