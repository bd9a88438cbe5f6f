// Package workload reads the live Deployments and pods of Websites: whose they
// are, what their status says, and what was observed of them. It is pure: it
// holds no client and no cache.
package workload
