package resources

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// defaultDisk is the default size limit of the volume.
const defaultDisk = "2Gi"

const (
	// diskShare is the divisor of the limit for the request: most sites need little of the limit, and
	// a node reserves the request.
	diskShare = 8

	// The sizes of the other volumes of a pod on the disk of the node.
	nginxTempSize, gitSyncTempSize, agentSize = 64 << 20, 256 << 20, 32 << 20
	// logSize is for the logs of the containers: ten times as much as a kubelet keeps by default.
	logSize = 1 << 30
	// otherStorage counts towards the limit of ephemeral-storage as well.
	otherStorage = nginxTempSize + gitSyncTempSize + agentSize + logSize
)

// diskLimit returns the size limit of the volume of a Website.
func diskLimit(website *v1beta1.Website) resource.Quantity {
	if limit := website.Spec.Storage.SizeLimit; limit != nil {
		return *limit
	}
	return resource.MustParse(defaultDisk)
}

// gitSyncDefaults are syncDefaults with the ephemeral storage: a request for the scheduler, and a
// limit. The kubelet compares the limit with all files of the pod, so a smaller one, such as the
// default of a LimitRange, would evict a pod whose volume is not full.
func gitSyncDefaults(website *v1beta1.Website) corev1.ResourceRequirements {
	size := diskLimit(website)
	defaults := corev1.ResourceRequirements{Requests: maps.Clone(syncDefaults.Requests),
		Limits: maps.Clone(syncDefaults.Limits)}
	defaults.Requests[corev1.ResourceEphemeralStorage] = *byteQuantity(size.Value() / diskShare)
	defaults.Limits[corev1.ResourceEphemeralStorage] = *byteQuantity(size.Value() + otherStorage)
	return defaults
}

// diskBudget returns the size of the volume above which the agent removes releases, and rejects
// commits: 90 % of the limit of the kubelet, which evicts a pod above its limit.
func diskBudget(website *v1beta1.Website) int64 {
	size := diskLimit(website)
	most := size.Value()
	if limit, isLimited := website.Spec.Resources.Sync.Limits[corev1.ResourceEphemeralStorage]; isLimited {
		most = min(most, max(limit.Value()-otherStorage, limit.Value()/2))
	}
	return most * 9 / 10
}

func byteQuantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.BinarySI) }
