// Package crdimport moves Websites from the CustomResourceDefinition of the original
// controller to website-apiserver.
//
// The copies keep their UIDs, so that the owner references of Deployments and Services stay
// true and no child is written. What remains dangerous is a delete event: the garbage
// collector that sees one deletes the children, whatever another API server responds. Removing
// a definition deletes its objects. Therefore the API is handed over first, and then the
// watches of the definition's storage are ended: kube-apiserver ends them when the definition
// changes. Clients watch again, and reach website-apiserver. Only then, when no client
// observes the old storage, the definition is removed.
//
// The progress is read from the cluster: an interrupted import is continued from what there is.
package crdimport
