package workload

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// DeploymentCondition returns a condition of a Deployment, or nil.
func DeploymentCondition(deployment *cached.Deployment,
	kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range deployment.Status.Conditions {
		if deployment.Status.Conditions[i].Type == kind {
			return &deployment.Status.Conditions[i]
		}
	}
	return nil
}

// Availability summarizes the pods in the status of a Deployment.
type Availability struct {
	// RolledOut is true when all pods are up to date and available, and there are no others.
	RolledOut bool
	// Enough is true when at most one pod is unavailable, and one is available.
	Enough bool
}

// AvailabilityOf reads the status of a Deployment.
func AvailabilityOf(deployment *cached.Deployment) Availability {
	status, wanted := &deployment.Status, deployment.Replicas
	return Availability{
		RolledOut: status.ObservedGeneration >= deployment.Generation &&
			status.Replicas == wanted && status.UpdatedReplicas == wanted && status.AvailableReplicas == wanted,
		Enough: status.AvailableReplicas >= max(1, wanted-1),
	}
}
