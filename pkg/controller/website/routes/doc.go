// Package routes makes the hosts of Websites lead to their Services: by HTTPRoutes and ListenerSets at
// Gateways, or by an Ingress. It discovers which kinds of Gateway API the cluster serves, which may
// change while the controller runs, and sends no requests before a Website has hosts.
package routes
