package website

import (
	corev1 "k8s.io/api/core/v1"
)

// WebsiteService is the Service in front of the pods.
type WebsiteService struct {
	// Type says from where the site can be reached.
	Type ServiceType
	// NodePort is the port on every node; 0 lets the cluster choose.
	NodePort int32
}

// ServiceType says from where the site can be reached.
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
	// Server is for the container that serves the files.
	Server corev1.ResourceRequirements
	// Sync is for the container that fetches the repository.
	Sync corev1.ResourceRequirements
}

// WebsiteScheduling says on which nodes the pods may run.
type WebsiteScheduling struct {
	// NodeSelector holds labels that a node must have.
	NodeSelector map[string]string
	// Tolerations let the pods run on nodes whose taints match.
	Tolerations []corev1.Toleration
}
