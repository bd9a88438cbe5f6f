package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
)

// WebsiteService is the Service in front of the pods.
type WebsiteService struct {
	// type is NodePort (reachable on every node), ClusterIP (only within the
	// cluster) or LoadBalancer. Defaults to NodePort.
	// +optional
	// +default="NodePort"
	// +k8s:optional
	Type ServiceType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=ServiceType"`

	// nodePort is the port on every node, from 1 to 65535 and within the range
	// that the cluster is configured for. It can be given with the types
	// NodePort and LoadBalancer only. By default the cluster chooses a free
	// one.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:maximum=65535
	NodePort int32 `json:"nodePort,omitempty" protobuf:"varint,2,opt,name=nodePort"`
}

// ServiceType says from where the site can be reached.
// +enum
// +k8s:enum
type ServiceType string

const (
	// ServiceTypeNodePort makes the site reachable on a port of every node.
	ServiceTypeNodePort ServiceType = "NodePort"
	// ServiceTypeClusterIP makes the site reachable within the cluster only.
	ServiceTypeClusterIP ServiceType = "ClusterIP"
	// ServiceTypeLoadBalancer asks the cluster's provider for a load balancer.
	ServiceTypeLoadBalancer ServiceType = "LoadBalancer"
)

// WebsiteResources are the compute resources of the containers of each pod.
type WebsiteResources struct {
	// server is for the container that serves the files. Of the resources,
	// cpu, memory and ephemeral-storage can be given.
	// +optional
	// +k8s:opaqueType
	Server corev1.ResourceRequirements `json:"server,omitempty,omitzero" protobuf:"bytes,1,opt,name=server"`

	// sync is for the container that fetches the repository. Of the resources,
	// cpu, memory and ephemeral-storage can be given.
	// +optional
	// +k8s:opaqueType
	Sync corev1.ResourceRequirements `json:"sync,omitempty,omitzero" protobuf:"bytes,2,opt,name=sync"`
}

// WebsiteScheduling says on which nodes the pods may run.
type WebsiteScheduling struct {
	// nodeSelector holds labels that a node must have.
	// +optional
	// +mapType=atomic
	NodeSelector map[string]string `json:"nodeSelector,omitempty" protobuf:"bytes,1,rep,name=nodeSelector"`

	// tolerations let the pods run on nodes whose taints match.
	// +optional
	// +listType=atomic
	// +k8s:eachVal=+k8s:opaqueType
	Tolerations []corev1.Toleration `json:"tolerations,omitempty" protobuf:"bytes,2,rep,name=tolerations"`
}
