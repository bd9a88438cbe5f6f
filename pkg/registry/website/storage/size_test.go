package storage

import (
	"slices"
	"strings"
	"testing"

	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// TestSizes: those of a collection are the sizes of its Websites, and no others.
func TestSizes(t *testing.T) {
	s := newCachedStorage(t, genericregistry.StorageWithCacher())
	mustCreate(t, s, newWebsite())
	mustCreate(t, s, newWebsite(func(w *website.Website) {
		w.Name, w.Spec.DeploymentName, w.Annotations = "large", "large", map[string]string{"a": strings.Repeat("x", 10000)}
	}))
	waitCached(t, s, "large", 1)
	ctx := requestContext("v1beta1", "")
	want := []int64{s.Website.EncodedSize(ctx, "default", "kubia"), s.Website.EncodedSize(ctx, "default", "large")}
	if want[0] < 100 || want[1] < 10000 {
		t.Fatalf("the sizes are %d", want)
	}
	if got := s.Website.CollectionSizes(ctx, "default"); !slices.Equal(got, want) {
		t.Errorf("the sizes of the collection are %d, want %d", got, want)
	}
	if got := s.Website.CollectionSizes(ctx, "elsewhere"); len(got) > 0 {
		t.Errorf("an empty namespace has the sizes %d", got)
	}
}
