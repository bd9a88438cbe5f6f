// Package routes makes the hosts of Websites lead to their Services: by HTTPRoutes and ListenerSets at
// Gateways, or by an Ingress. The cluster may begin and cease to serve kinds of Gateway API while the
// controller runs. The package sends no requests before a Website has hosts.
package routes
