package apiserver

import (
	"k8s.io/kube-openapi/pkg/handler3"
)

// sharedPaths are the documents of OpenAPI v3 that every server has.
var sharedPaths = []string{"apis", "version"}

// withdrawSharedPaths removes them. The aggregator merges the indexes of all servers by path
// and in random order, so clients would get the documents of the cluster from this server now
// and then, and an error while it is unavailable.
func withdrawSharedPaths(service *handler3.OpenAPIService) {
	for _, path := range sharedPaths {
		service.DeleteGroupVersion(path)
	}
}
