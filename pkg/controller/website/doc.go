// Package website is the controller that turns Websites into Deployments,
// Services and ConfigMaps, and reports back how many pods serve.
//
// controller.go wires informers to a work queue, reconcile.go holds the steps
// of one pass over one Website, apply.go the only code that writes a child. The
// rules that every step keeps:
//
//   - The cache can only say that there is nothing to do. Whatever else is
//     decided, is decided on an object read from the API server.
//   - A child is written only when what we want differs from what we applied
//     before, and only when its controller reference carries the UID of the
//     Website at hand. An object of somebody else is never touched.
//   - A pass can be cut off after any call and started again.
package website
