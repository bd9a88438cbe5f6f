package website

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestOldestHasTheHost: over all namespaces, by age and then by name.
func TestOldestHasTheHost(t *testing.T) {
	const host = "shop.example.com"
	index := cache.NewIndexer(cache.MetaNamespaceKeyFunc, websiteIndexers())
	add := func(namespace, name string, age time.Duration, tweaks ...func(*v1beta1.Website)) *v1beta1.Website {
		website := newWebsite(append(tweaks, func(w *v1beta1.Website) {
			w.Namespace, w.Name, w.UID = namespace, name, types.UID(namespace+"/"+name)
			w.CreationTimestamp = metav1.NewTime(testNow.Add(-age))
			if w.Spec.Hosts == nil {
				w.Spec.Hosts = []string{"x.example.com", host}
			}
		})...)
		if err := index.Add(website); err != nil {
			t.Fatal(err)
		}
		return website
	}
	deleting := func(w *v1beta1.Website) { w.DeletionTimestamp = &metav1.Time{Time: testNow} }
	wildcard := func(w *v1beta1.Website) { w.Spec.Hosts = []string{"*.example.com"} }
	add("a", "deleted", 4*time.Hour, deleting)
	add("a", "wildcard", 3*time.Hour, wildcard)
	oldest := add("b", "oldest", 2*time.Hour)
	same := add("b", "same-second", 2*time.Hour)
	younger := add("a", "younger", time.Hour)
	for _, test := range []struct{ website, want *v1beta1.Website }{{oldest, nil}, {same, oldest}, {younger, oldest}} {
		if got := oldestWithHost(index, test.website, host); got != test.want {
			t.Errorf("%s: another one has the host: %v, want %v", test.website.Name, got, test.want)
		}
	}
}
