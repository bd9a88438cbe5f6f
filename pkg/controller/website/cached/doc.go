// Package cached has the forms in which the caches of the controller hold the children of Websites,
// their ReplicaSets and their pods: the required fields, and a digest of the fields that the
// controller has applied. The transform functions of the informers return them, so that no other part
// of an object stays in memory: any client can give objects of any size the labels of children.
// Objects in the caches are not changed.
package cached
