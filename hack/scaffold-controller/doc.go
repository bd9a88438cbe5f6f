// Command scaffold-controller is compared with website-controller by "make bench-controller": a
// controller written as in the documentation of sigs.k8s.io/controller-runtime and the
// Kubebuilder book. It reconciles the CustomResourceDefinition of test/bench/website-crd.yaml,
// with the children of website-controller, from the same builders.
//
// It is not weakened. It has the documented parts: a manager with a cached client and without a
// client-side rate limit, Owns for each kind of child, CreateOrUpdate with functions that keep
// the server's defaults (the GoDoc warns of endless updates otherwise), the status subresource,
// conditions by meta.SetStatusCondition, and a lease that is released at the end. Further parts
// of the book's examples are left out in its favour: a finalizer, a first status with Unknown,
// and requests in between that read the object again.
//
// Without --tuned, it is the book's code: one Website at a time, and a status update at the end
// of each reconcile. With --tuned, it takes each measure that the documentation describes for
// larger installations: a cache of labelled objects without managed fields, events of Websites
// filtered by their generation, as many concurrent reconciles as website-controller has, and a
// status update only on a difference.
//
// It does less than website-controller: it neither checks the former owner of a child, nor
// deletes unused configurations, nor limits rollouts, observes pods or sends events.
package main
