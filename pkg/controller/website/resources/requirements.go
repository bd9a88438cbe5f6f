package resources

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// The defaults of each container. Their quantities are in the form that the API
// server writes ("1", not "1000m"), or they would differ when read back.
var (
	serverDefaults = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("128Mi")},
	}
	syncDefaults = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("256Mi")},
	}
)

// requirements returns wanted with the defaults of each request and limit that it
// does not set. A default is adjusted to the value that is set: a request is at
// most the limit, and a limit at least the request.
func requirements(wanted, defaults corev1.ResourceRequirements) *corev1ac.ResourceRequirementsApplyConfiguration {
	requests, limits := maps.Clone(defaults.Requests), maps.Clone(defaults.Limits)
	maps.Copy(requests, wanted.Requests)
	maps.Copy(limits, wanted.Limits)
	for name, request := range requests {
		limit, limited := limits[name]
		if !limited || request.Cmp(limit) <= 0 {
			continue
		}
		if _, given := wanted.Requests[name]; given {
			limits[name] = request
		} else {
			requests[name] = limit
		}
	}
	return corev1ac.ResourceRequirements().WithRequests(requests).WithLimits(limits)
}
