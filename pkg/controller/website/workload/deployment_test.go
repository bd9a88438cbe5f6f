package workload

import (
	"testing"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

func TestAvailabilityOf(t *testing.T) {
	for name, test := range map[string]struct {
		replicas int32
		status   cached.DeploymentStatus
		want     Availability
	}{
		"no pods": {3, cached.DeploymentStatus{}, Availability{}},
		"all": {3, cached.DeploymentStatus{Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3},
			Availability{RolledOut: true, Enough: true}},
		"all but one": {3, cached.DeploymentStatus{Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 2},
			Availability{Enough: true}},
		"all but two": {3, cached.DeploymentStatus{Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 1},
			Availability{}},
		"the only one is missing": {1, cached.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1}, Availability{}},
		"pods of another template": {1, cached.DeploymentStatus{Replicas: 2, UpdatedReplicas: 1, AvailableReplicas: 2},
			Availability{Enough: true}},
		"about an older spec": {1, cached.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1,
			ObservedGeneration: -1}, Availability{Enough: true}},
	} {
		deployment := &cached.Deployment{Replicas: test.replicas, Status: test.status}
		if got := AvailabilityOf(deployment); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
