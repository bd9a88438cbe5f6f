// Package routes has the hosts of Websites routed to their Services: by HTTPRoutes and ListenerSets at Gateways, or by
// an Ingress. It knows which kinds of Gateway API the cluster serves, which may come and go while the controller
// runs, and requests nothing before a Website has hosts.
package routes
