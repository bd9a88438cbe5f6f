// Package podprobe probes the pods of Websites: which commit they serve and
// whether they still follow their repository.
//
// The agent in every pod answers with all of it in one request, on a port that no
// Service names. Changed pods are probed at once, and all pods once in a period.
// Namespaces have equal shares of a bounded number of workers. Of why a repository
// cannot be fetched only the kind of failure is kept.
package podprobe
