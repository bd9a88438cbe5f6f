// Package podprobe probes the pods of Websites: which commit they serve and whether they still follow
// their repository.
//
// The agent in every pod answers with its whole state in one request, on a port that no Service
// names. Changed pods are probed immediately, and all pods periodically. Namespaces have equal shares
// of a bounded number of workers. Of fetch failures only the kind is kept.
package podprobe
