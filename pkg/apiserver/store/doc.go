// Package store keeps website-apiserver from serving a store that is not the one
// it served before.
//
// The children of Websites live in the host cluster, whose garbage collector
// deletes them within seconds once the API answers that their owners are gone. An
// empty data directory, the etcd of another cluster or an old snapshot would all
// answer so. An error, in contrast, means "unknown" to the garbage collector, and
// nothing is deleted.
//
// Therefore the store holds a Record: its identity, and a nonce that is replaced
// every few seconds while something is written, and at shutdown. A ConfigMap of
// the host cluster holds the same. Guard compares the two on every new connection
// to etcd, before the connection is used, and whenever a response comes from
// another etcd cluster or an earlier revision than the last one. While they
// differ, the server is closed: it answers every request for Websites with 503.
//
// Revisions are not compared between store and host, since restoring a snapshot
// may raise them. Both records have the time of the nonce instead, which tells an
// earlier copy of the store from an earlier state of the host cluster.
package store
