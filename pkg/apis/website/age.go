package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsOlder orders Websites of all versions by age. Time stamps have seconds only, so
// Websites of one second are ordered by namespace and name.
func IsOlder(a, b metav1.Object) bool {
	createdA, createdB := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	switch {
	case !createdA.Equal(&createdB):
		return createdA.Before(&createdB)
	case a.GetNamespace() != b.GetNamespace():
		return a.GetNamespace() < b.GetNamespace()
	default:
		return a.GetName() < b.GetName()
	}
}
