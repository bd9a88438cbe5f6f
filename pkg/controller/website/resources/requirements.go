package resources

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// The defaults of each container. Their quantities have the canonical form of the API server ("1",
// not "1000m"); otherwise they would differ when read back.
var (
	serverDefaults = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"),
			corev1.ResourceMemory: resource.MustParse("16Mi")},
		Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"),
			corev1.ResourceMemory: resource.MustParse("128Mi")},
	}
	syncDefaults = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"),
			corev1.ResourceMemory: resource.MustParse("32Mi")},
		Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"),
			corev1.ResourceMemory: resource.MustParse("256Mi")},
	}
)

// requirements returns wanted with defaults for missing requests and limits. A default is adjusted to
// the value that is set: a request is at most the limit, and a limit at least the request.
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

// The memory of nginx and the kernel for a client, measured with nginx 1.30.4 on Linux 6.18.
const (
	// compressedMemory is for a compressed response that the client does not read: nginx takes 342 KiB, and the kernel
	// has 130 KiB to send. An uncompressed response takes 10 KiB of nginx.
	compressedMemory = 512 << 10
	// connectionMemory is for an unfinished request with 1000 headers, the most that nginx accepts: 107 KiB of nginx.
	// One with few headers takes 6 KiB.
	connectionMemory = 112 << 10

	minConnections, maxConnections = 256, 8192
	// workerConnections is the minimum for a worker, if that many fit into the memory: more CPUs must
	// not serve fewer visitors.
	workerConnections = 1024
	minCompressed     = 16
	// cachedFiles is the number of files that stay open for later requests: open_file_cache.
	cachedFiles = 1024
)

// connectionLimits limit the resources of nginx that clients can use.
type connectionLimits struct {
	// Connections is the limit of each worker process, for both ports.
	Connections int64
	// Requests is the maximum number of concurrent requests for the site, and Compressed the maximum
	// with a response that nginx may compress.
	Requests, Compressed int64
	// Files is the limit of open files of each worker process.
	Files int64
}

// newConnectionLimits keeps the memory for the unfinished requests of one worker within the limit,
// and the memory for compressed responses within three quarters of it, apart from the minimums.
// Requests take at most three quarters of the connections of a worker: probes need others.
func newConnectionLimits(website *v1beta1.Website) connectionLimits {
	memory := requirements(website.Spec.Resources.Server, serverDefaults).Limits.Memory().Value()
	connections := min(max(memory/connectionMemory, minConnections), maxConnections)
	connections = max(connections/workers(website), min(connections, workerConnections))
	requests := connections / 4 * 3
	return connectionLimits{
		Connections: connections,
		Requests:    requests,
		Compressed:  min(max(memory/4*3/compressedMemory, minCompressed), requests),
		Files:       2*connections + cachedFiles,
	}
}
