// Package website is the controller that turns Websites into ConfigMaps,
// Deployments, Services and PodDisruptionBudgets, and reports back what is
// served and why not.
//
// controller.go wires informers to a work queue (queue.go), pass.go holds the
// steps of one pass over one Website, each of which has a file of its own, and
// apply.go the only code that writes a child. status.go ends a pass: what is
// reported is computed in conditions.go and synced.go, and statuses.go decides
// when it is written, progress.go what of it can wait. settle.go decides when a
// Website is looked at again. The rules that every step keeps:
//
//   - The cache can only say that there is nothing to do. Whatever else is
//     decided, is decided on an object read from the API server.
//   - A child is written only when what we want differs from what we applied
//     before, and only when its controller reference carries the UID of the
//     Website at hand, or it is an orphan of ours (adoption.go). An object of
//     somebody else is never touched.
//   - A pass can be cut off after any call and started again.
package website
