package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
)

// DeploymentCondition returns a condition of a Deployment, or nil.
func DeploymentCondition(deployment *appsv1.Deployment,
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
func AvailabilityOf(deployment *appsv1.Deployment) Availability {
	status, wanted := &deployment.Status, ptr.Deref(deployment.Spec.Replicas, 1)
	return Availability{
		RolledOut: status.ObservedGeneration >= deployment.Generation &&
			status.Replicas == wanted && status.UpdatedReplicas == wanted && status.AvailableReplicas == wanted,
		Enough: status.AvailableReplicas >= max(1, wanted-1),
	}
}
