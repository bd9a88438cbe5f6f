// Package resources builds the children of a Website: a ConfigMap with the nginx configuration, a
// Deployment, a Service and a PodDisruptionBudget. Its functions are pure: the same Website always
// gives the same apply configurations, so that the controller writes only if the result differs from
// the last applied one.
package resources
