// Package ext replaces the extensions of Traefik's configuration. Traefik requires it from
// its own directory, which is not in its Go module; it is empty there as well.
package ext

// HTTP extends the configuration of HTTP.
type HTTP struct{}

// Router extends the configuration of a router.
type Router struct{}
