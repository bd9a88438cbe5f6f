// Command scaffold-controller is what "make bench-controller" compares website-controller with:
// a controller as the documentation of sigs.k8s.io/controller-runtime and the Kubebuilder book
// have one written. It reconciles the CustomResourceDefinition of test/bench/website-crd.yaml,
// with the children of website-controller, from the same builders.
//
// It is not weakened. What the documentation names is there: a manager with a cached client
// and without a client-side rate limit, Owns for each kind of child, CreateOrUpdate with
// functions that leave the server's defaults alone (the GoDoc warns of endless updates
// otherwise), the status subresource, conditions by meta.SetStatusCondition, and a lease that
// is released at the end. What the book's examples add on top is left out in its favour: a
// finalizer, a first status with Unknown, and requests in between that read the object again.
//
// Without --tuned, it is the book's code as it stands: one Website at a time, and a status
// update at the end of each reconciliation. With --tuned, it takes each measure that the
// documentation describes for larger installations: a cache of labelled objects without
// managed fields, events of Websites filtered by their generation, as many concurrent
// reconciliations as website-controller has, and a status update only on a difference.
//
// It does less than website-controller: it neither checks whose a child was before, nor
// deletes configurations that no pod needs, nor limits rollouts, observes pods or sends events.
package main
