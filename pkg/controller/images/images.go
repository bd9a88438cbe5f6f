// Package images names the container images of the product, and the default ones of a
// Website's pods. It imports nothing, so that development tools can read the names without
// linking the controller.
package images

const (
	// Repository is the prefix of the product's own images.
	Repository = "ghcr.io/kubesites"
	// Tag is the version of the product's own images.
	Tag = "v0.1.0"

	// APIServer is website-apiserver.
	APIServer = Repository + "/website-apiserver:" + Tag
	// Controller is website-controller.
	Controller = Repository + "/website-controller:" + Tag
	// Agent fetches and publishes. It copies itself into each pod.
	Agent = Repository + "/website-agent:" + Tag

	// Nginx serves the files.
	Nginx = "docker.io/nginxinc/nginx-unprivileged:1.30.5-alpine"
	// GitSync provides git, ssh and CA certificates for the agent. The program git-sync in it is not
	// run.
	GitSync = "registry.k8s.io/git-sync/git-sync:v4.7.1"
)
