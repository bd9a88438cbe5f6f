package website

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// WebsiteService configures the Service of the pods.
type WebsiteService struct {
	// Type is the type of the Service.
	Type ServiceType
	// NodePort is the port on every node; 0 lets the cluster allocate one.
	NodePort int32
	// LoadBalancerClass is the class of a load balancer; empty for the default.
	LoadBalancerClass string
	// Annotations are for the controller of load balancers.
	Annotations map[string]string
}

// ServiceType is the type of the Service.
type ServiceType string

const (
	// ServiceTypeNodePort makes the site reachable on a port of every node.
	ServiceTypeNodePort ServiceType = "NodePort"
	// ServiceTypeClusterIP makes the site reachable within the cluster only.
	ServiceTypeClusterIP ServiceType = "ClusterIP"
	// ServiceTypeLoadBalancer requests a load balancer from the cloud provider.
	ServiceTypeLoadBalancer ServiceType = "LoadBalancer"
)

// WebsiteResources are the compute resources of the containers of each pod.
type WebsiteResources struct {
	// Server is for the container that serves the files.
	Server corev1.ResourceRequirements
	// Sync is for the container that fetches the repository.
	Sync corev1.ResourceRequirements
}

// WebsiteStorage configures the volume of each pod with the repository and its releases.
type WebsiteStorage struct {
	// SizeLimit is the size limit of the volume.
	SizeLimit *resource.Quantity
}

// WebsiteScheduling restricts the nodes of the pods.
type WebsiteScheduling struct {
	// NodeSelector holds labels that a node must have.
	NodeSelector map[string]string
	// Tolerations allow nodes with matching taints.
	Tolerations []corev1.Toleration
}
