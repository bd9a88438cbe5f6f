package v1beta1

// OpenAPI takes the descriptions of query parameters from here, and other descriptions
// from the types.

// SwaggerDoc describes the query parameters of the subresource sync.
func (WebsiteSyncOptions) SwaggerDoc() map[string]string {
	return map[string]string{
		"timeoutSeconds": "timeoutSeconds is the time to wait until all ready pods serve the requested commit, in seconds, " +
			"from 0 to 300. kube-apiserver ends requests after its --request-timeout, by default 60 seconds. Defaults to " +
			"no waiting.",
		"dryRun": "dryRun is All to check the request without recording it. Defaults to none.",
	}
}
