// Package controller measures website-controller beside two others, in one run: the bare
// children of Websites without a controller, which is the least that a cluster can take, and a
// controller written as the documentation of controller-runtime has it, with the same children
// (hack/scaffold-controller). "make bench-controller" runs it; docs/performance.md explains
// the measurements.
package controller
