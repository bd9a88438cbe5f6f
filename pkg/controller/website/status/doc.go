// Package status computes the status of a Website. It is pure: Compute turns the observed state into
// a WebsiteStatus, without clients, caches or a clock.
//
// conditions.go declares the conditions in one table: each has rules that are tried in order, and the
// first that applies decides. The rules are in rollout.go (the Deployment), pods.go (reasons why pods
// do not serve), synced.go and pin.go (the commit). sync.go has the requests to sync, history.go the
// published commits.
package status
