// Package website is the controller that turns Websites into ConfigMaps,
// Deployments, Services and PodDisruptionBudgets, and reports back what is
// served and why not.
//
// controller.go wires informers (informers.go, handlers.go) to a work queue
// (queue), and reconcile.go is what a worker does with a Website, from top to
// bottom: it finds the Deployment, builds what the children are to be
// (resources), writes them (children), and reports the result as events (events)
// and as the status (report.go, computed in status). Packages of their own take over the
// Deployment of a former controller (takeover), hold rollouts (rollout), route hosts
// (routes) and keep previews (previews); none of them imports this one. What goes wrong on
// the way is a problem.Problem, which decides all that follows from it. What is remembered
// from one reconciliation to the next is in memory.go.
//
// A reconciliation can be cut off after any call and started again.
package website
