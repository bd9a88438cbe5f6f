package workload

import (
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

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
