// Package podprobe probes the pods of Websites: which commit they serve and
// whether they still follow their repository.
//
// Every pod answers on two ports that no Service names: the admin port of
// nginx says which commit is published, the metrics of git-sync say whether
// fetching works. Pods are probed soon after they change and while something is
// not right, rarely otherwise, and a bounded number at a time. The end of
// git-sync's log is read only when fetching fails, and of that nothing is kept
// but the kind of failure: the text can hold addresses and credentials.
package podprobe
