// Package crdimport moves Websites from the CustomResourceDefinition of the original controller
// to website-apiserver.
//
// The copies keep their UIDs, so that the owner references of Deployments and Services stay
// valid and no child is written. The remaining danger is a delete event: a garbage collector
// that receives one deletes the children, whatever another API server responds. Removing a
// definition deletes its objects. Therefore the API is handed over first, and then the watches
// of the definition's storage are ended: kube-apiserver ends them when the definition changes.
// Clients watch again, and reach website-apiserver. Only then, when no client observes the old
// storage, the definition is removed.
//
// The progress is read from the cluster: an interrupted import continues from the
// current state.
package crdimport
