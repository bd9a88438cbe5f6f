// Package bench measures the API of Websites beside the APIs that could replace it, in one
// run: a CustomResourceDefinition with the same schema and rules, a built-in resource of
// equal size, and k8s.io/sample-apiserver. "make bench" runs it; docs/performance.md explains
// the measurements.
package bench
