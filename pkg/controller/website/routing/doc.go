// Package routing knows what routes hosts in the cluster: which kinds of Gateway API it
// serves, which may come and go while the controller runs, the Gateways, and the routes of
// Websites. Nothing is requested before a Website has hosts.
package routing
