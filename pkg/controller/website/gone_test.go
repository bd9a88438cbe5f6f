package website

import (
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// TestGoneWebsiteGetsNothingBack has garbage collection remove the children of a
// deleted Website before the cache shows that it is deleted.
func TestGoneWebsiteGetsNothingBack(t *testing.T) {
	website := newWebsite(func(w *v1beta1.Website) { w.Generation = 1 })
	deleted := func(f *fixture) {
		if err := f.websites.Tracker().Delete(v1beta1.SchemeGroupVersion.WithResource("websites"), website.Namespace,
			website.Name); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]func(f *fixture){
		"deleted": deleted,
		"deleted, and its watch ended before its status arrived": func(f *fixture) {
			deleted(f)
			f.cacheWebsite(website)
			// The written status is forgotten after a time.
			f.controller.reconciler.websites = children.NewCache(f.controller.reconciler.websiteIndex)
		},
		"made again under its name": func(f *fixture) {
			another := newWebsite()
			another.UID = "another"
			if err := f.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), another,
				website.Namespace); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, delete := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, website)
			f.converge(website)
			delete(f)
			f.remove(f.configMap())
			f.remove(f.deployment())
			f.remove(f.service())
			f.syncCaches()
			if got := f.work(keyOf(website)); got != problem.Conflict {
				t.Errorf("result %v, want a silent retry", got)
			}
			if got := f.childWrites(); len(got) > 0 {
				t.Errorf("children of a Website that is gone were written: %q", got)
			}
			if got := f.events(); len(got) > 0 {
				t.Errorf("the events are %q", got)
			}
		})
	}
}
