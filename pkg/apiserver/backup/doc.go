// Package backup copies the store of website-apiserver and restores copies.
//
// A snapshot is a copy of etcd's database, as etcdctl makes it: with all revisions, in
// their encryption. An export holds the Websites alone, readable, and can be imported
// into any store. Both keep the UIDs of Websites, by which their children are owned.
//
// Restored data is never served by itself: a restored store has a nonce that no host
// cluster has recorded, and an import keeps the record. The server stays closed until
// "website-apiserver store accept", unless nothing can be lost; see package store.
package backup
