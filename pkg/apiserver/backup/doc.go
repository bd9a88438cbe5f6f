// Package backup copies the store of website-apiserver and brings copies back.
//
// A snapshot is a copy of etcd's database, as etcdctl makes it: with all revisions,
// encrypted as they are. An export holds the Websites alone, readable, and can be
// imported into any store. Both keep the UIDs of Websites, by which their children are
// owned.
//
// What is brought back is never served by itself: a restored store has a nonce that no
// host cluster has recorded, and an import leaves the record as it is. The server stays
// closed until "website-apiserver store accept", unless nothing can be lost; see package
// store.
package backup
