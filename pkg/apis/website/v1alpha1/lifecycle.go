package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The API server warns of types whose deprecation these methods declare. They
// are not generated: prerelease-lifecycle-gen counts in Kubernetes releases and
// would also declare a removal, which is not planned for this version.

// APILifecycleDeprecated returns the release of this project that deprecated the
// version.
func (*Website) APILifecycleDeprecated() (major, minor int) { return 0, 1 }

// APILifecycleReplacement returns the kind to use instead.
func (*Website) APILifecycleReplacement() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: GroupName, Version: "v1beta1", Kind: "Website"}
}
