package v1beta1

// OpenAPI takes the descriptions of query parameters from here, and those of fields from
// the types.

// SwaggerDoc describes the query parameters of the subresource sync.
func (WebsiteSyncOptions) SwaggerDoc() map[string]string {
	return map[string]string{
		"wait":   "wait is how long to wait until all ready pods serve the requested commit, as a duration such as 50s, at most 5m. kube-apiserver ends requests after its --request-timeout, by default 60s. Defaults to no waiting.",
		"dryRun": "dryRun is All to check the request without recording it. Defaults to none.",
	}
}

// SwaggerDoc describes the query parameters of the subresource rollback.
func (WebsiteRollbackOptions) SwaggerDoc() map[string]string {
	return map[string]string{
		"dryRun":       "dryRun is All to check the request without changing the Website. Defaults to none.",
		"fieldManager": "fieldManager is the name of the manager of spec.pin, of at most 128 printable characters. Defaults to the name in the User-Agent header.",
	}
}
