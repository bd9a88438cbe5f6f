// Package observer finds out from the pods of Websites which commit they serve
// and whether they still follow their repository.
//
// Every pod answers on two ports that no Service names: the admin port of
// nginx says which commit is published, the metrics of git-sync say whether
// fetching works. They are polled, a bounded number at a time: soon after a pod
// changes and while something is not right, rarely once it is. Only when
// fetching fails is the end of git-sync's log read, and of that nothing is kept
// but the kind of failure: the text can hold addresses and credentials.
package observer
