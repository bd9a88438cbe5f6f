package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The API server warns of deprecated types that say so by these methods. They
// are not generated: prerelease-lifecycle-gen counts in releases of Kubernetes
// and would also end the version, which stays for the sake of old manifests.

// APILifecycleDeprecated returns the release of this project since which
// v1beta1 is to be preferred.
func (*Website) APILifecycleDeprecated() (major, minor int) { return 0, 1 }

// APILifecycleReplacement returns what to use instead.
func (*Website) APILifecycleReplacement() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: GroupName, Version: "v1beta1", Kind: "Website"}
}
