package apiserver

import (
	"fmt"
	"net/http"
	"strings"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// sharedPaths are the documents of OpenAPI v3 that every server has.
var sharedPaths = []string{"apis", "version"}

// withdrawSharedPaths removes them. The aggregator merges the indexes of all servers by path
// and in random order, so clients would sometimes get the documents of the cluster from this
// server, and an error while it is unavailable.
func withdrawSharedPaths(service *handler3.OpenAPIService) {
	for _, path := range sharedPaths {
		service.DeleteGroupVersion(path)
	}
}

// syncPath is the suffix of the paths of the subresource sync.
const syncPath = "/websites/{name}/sync"

// syncBody describes the body of a request to it.
const syncBody = "A WebsiteSyncRequest with the commit to publish. Bodies of any other form or content type are " +
	"accepted and ignored."

// documentSync adds the body of requests to sync, and their response without timeoutSeconds,
// to the OpenAPI documents. The library describes neither for subresources that connect.
func documentSync(config *genericapiserver.Config) {
	if config.OpenAPIConfig != nil {
		config.OpenAPIConfig.PostProcessSpec = documentSyncV2
	}
	if config.OpenAPIV3Config != nil {
		config.OpenAPIV3Config.PostProcessSpec = documentSyncV3
	}
}

func documentSyncV2(document *spec.Swagger) (*spec.Swagger, error) {
	for path, item := range document.Paths.Paths {
		if item.Post == nil || !strings.HasSuffix(path, syncPath) {
			continue
		}
		answer, found := item.Post.Responses.StatusCodeResponses[http.StatusOK]
		if !found || answer.Schema == nil {
			return nil, fmt.Errorf("the OpenAPI document has no response of %s", path)
		}
		item.Post.Parameters = append([]spec.Parameter{{
			ParamProps: spec.ParamProps{Name: "body", In: "body", Description: syncBody, Schema: answer.Schema},
		}}, item.Post.Parameters...)
		answer.Description = http.StatusText(http.StatusAccepted)
		item.Post.Responses.StatusCodeResponses[http.StatusAccepted] = answer
	}
	return document, nil
}

func documentSyncV3(document *spec3.OpenAPI) (*spec3.OpenAPI, error) {
	for path, item := range document.Paths.Paths {
		if item.Post == nil || !strings.HasSuffix(path, syncPath) {
			continue
		}
		answer := item.Post.Responses.StatusCodeResponses[http.StatusOK]
		if answer == nil {
			return nil, fmt.Errorf("the OpenAPI document has no response of %s", path)
		}
		item.Post.RequestBody = &spec3.RequestBody{RequestBodyProps: spec3.RequestBodyProps{Description: syncBody,
			Content: answer.Content}}
		accepted := *answer
		accepted.Description = http.StatusText(http.StatusAccepted)
		item.Post.Responses.StatusCodeResponses[http.StatusAccepted] = &accepted
	}
	return document, nil
}
