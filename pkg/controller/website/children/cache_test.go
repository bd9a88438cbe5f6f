package children

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// TestShownWritesAreForgotten: a write is remembered until it is in the informer's store, and no
// longer.
func TestShownWritesAreForgotten(t *testing.T) {
	live := func(resourceVersion string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "site",
			ResourceVersion: resourceVersion}}
	}
	version := func(resourceVersion string) *cached.Service { return cached.OfService(live(resourceVersion)) }
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	services := newKind("Service", Owners{}, store, fake.NewClientset().CoreV1().Services, cached.Services,
		cached.OfService)
	all := &Children{Services: services}
	// remembered reports whether a version is returned while the store has an older one.
	remembered := func(resourceVersion string) bool {
		t.Helper()
		if err := store.Update(version("1")); err != nil {
			t.Fatal(err)
		}
		child := services.cached("default", "site")
		return child != nil && child.ResourceVersion == resourceVersion
	}
	services.Remember(live("2"))
	all.Shown(version("1"))
	if !remembered("2") {
		t.Error("a write that the store does not have is forgotten")
	}
	if err := store.Update(version("2")); err != nil {
		t.Fatal(err)
	}
	all.Shown(version("2"))
	if remembered("2") {
		t.Error("a write that the store has is remembered")
	}
	// The watch was faster than the response.
	if err := store.Update(version("3")); err != nil {
		t.Fatal(err)
	}
	services.Remember(live("3"))
	if remembered("3") {
		t.Error("a write that the store had before is remembered")
	}
}
