// Package resources builds the children of a Website: a ConfigMap with the
// nginx configuration, a Deployment and a Service. Its functions are pure: the
// same Website always gives the same apply configurations, so that the
// controller can compare what it wants with what it applied before and stay
// silent when the two are equal.
package resources
