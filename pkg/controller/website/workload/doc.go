// Package workload reads the live Deployments and pods of Websites: their Website, their status, and
// the observations of their probes. It is pure: it holds no client and no cache.
package workload
