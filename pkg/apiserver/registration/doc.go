// Package registration registers website-apiserver with the host cluster: an APIService
// for each version of the API.
//
// The server does so itself, once its Service answers. An APIService that is applied
// before, together with the other manifests, would be unavailable until the server is
// ready, and clients that read all of discovery would fail meanwhile.
package registration
