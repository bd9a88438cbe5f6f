package framework

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RequireResource skips a test that needs a resource which the host cluster does not serve:
// see -kubernetes-version.
func RequireResource(t *testing.T, groupVersion, resource string) {
	t.Helper()
	discovery := Admin(t).Kubernetes.Discovery()
	served, err := discovery.ServerResourcesForGroupVersion(groupVersion)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	if err == nil && slices.ContainsFunc(served.APIResources,
		func(r metav1.APIResource) bool { return r.Name == resource }) {
		return
	}
	version, err := discovery.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	t.Skipf("Kubernetes %s does not serve %s in %s", version.GitVersion, resource, groupVersion)
}
