package apiserver

import (
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/kubesites/website-apiserver/pkg/generated/openapi"
)

// headerDefinition is the definition of v1beta1.ResponseHeader.
const headerDefinition = "io.nevermosby.mycontroller.v1beta1.ResponseHeader"

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

// OpenAPIDefinitions returns the generated definitions, with the default of a key
// of spec.serving.headers. Server-side apply has to know it, to identify headers
// without a path. The server must not fill it in, which a "+default" in the type
// would do as well: kubectl compares lists as a whole and would take a manifest
// without it for changed on every apply.
func OpenAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	definitions := openapi.GetOpenAPIDefinitions(ref)
	path := definitions[headerDefinition].Schema.Properties["path"]
	path.Default = "/"
	definitions[headerDefinition].Schema.Properties["path"] = path
	return definitions
}
