// Package connects adds to the handler chain two features of subresources that the library lacks: dry runs and
// requests that wait for sync, which connects, and strict bodies for rollback.
package connects

import (
	"net/http"

	genericapiserver "k8s.io/apiserver/pkg/server"
)

// Apply adds it to a configuration.
func Apply(config *genericapiserver.Config) {
	config.LongRunningFunc = longRunning(config.LongRunningFunc)
	if config.AdmissionControl != nil {
		config.AdmissionControl = dryRunAdmission{config.AdmissionControl}
	}
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return build(withDryRun(withStrictRollback(handler)), c)
	}
}
