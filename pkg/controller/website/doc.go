// Package website is the controller that turns Websites into ConfigMaps, Deployments, Services and
// PodDisruptionBudgets, and reports the served commit and problems in their status.
//
// controller.go wires informers (informers.go, handlers.go) to a work queue (queue), and reconcile.go
// reconciles one Website, from top to bottom: it gets the Deployment, builds the desired children
// (resources), writes them (children), and reports the result as events (events) and as the status
// (report.go, computed in status). Packages of their own take over the Deployment of the original
// controller (takeover), hold rollouts (rollout), route hosts (routes) and maintain previews
// (previews); none of them imports this one. Errors are classified as problem.Problems, which
// determine retries, reports and metrics. memory.go has the state that is kept from one
// reconciliation to the next.
//
// A reconciliation can be interrupted after any call and started again.
package website
