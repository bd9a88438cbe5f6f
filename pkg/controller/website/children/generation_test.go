package children

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// TestGeneration: a controller whose cache has one generation of a Website finds a child that was
// written from another one.
func TestGeneration(t *testing.T) {
	for name, test := range map[string]struct {
		// written is the annotation of the child; cached and stored are the generations
		// of the Website in the cache and on the API server.
		written        string
		cached, stored int64
		missing        bool
		content        string
		want           Operation
		wantConflict   bool
		wantWritten    string
	}{
		"a later generation": {written: "1", cached: 2, stored: 2, content: "b", want: Updated,
			wantWritten: "2"},
		"a later one that changes nothing": {written: "1", cached: 2, stored: 2, content: "a", want: Unchanged,
			wantWritten: "1"},
		"a child of before the annotation": {written: "", cached: 2, stored: 2, content: "b", want: Updated,
			wantWritten: "2"},
		"of before the annotation, equal": {written: "", cached: 2, stored: 2, content: "a", want: Unchanged,
			wantWritten: ""},
		"the cache lags": {written: "3", cached: 2, stored: 3, content: "b", want: Unchanged,
			wantConflict: true, wantWritten: "3"},
		"the cache lags behind a restored store": {written: "5", cached: 2, stored: 3, content: "b", want: Unchanged,
			wantConflict: true, wantWritten: "5"},
		"the store was restored to an older state": {written: "3", cached: 2, stored: 2, content: "b", want: Updated,
			wantWritten: "2"},
		"the cache lags, and the child is equal": {written: "3", cached: 2, stored: 3, content: "a", want: Unchanged,
			wantWritten: "3"},
		"the cache lags, and the child is missing": {missing: true, cached: 2, stored: 3, content: "a", want: Unchanged,
			wantConflict: true},
		"the cache is current, the child is missing": {missing: true, cached: 3, stored: 3, content: "a", want: Created,
			wantWritten: "3"},
	} {
		t.Run(name, func(t *testing.T) {
			website := newWebsite("kubia")
			website.Generation, website.Status.ObservedGeneration = test.cached, 1
			current := website.DeepCopy()
			f := newFixture(t, current)
			if !test.missing {
				if _, _, p := f.Ensure(t.Context(), website, wanted(website, "a")); p != nil {
					t.Fatal(p)
				}
				f.edit(func(child *corev1.ConfigMap) {
					child.Annotations = map[string]string{cached.GenerationAnnotation: test.written}
				})
			}
			f.syncStore()
			current.Generation = test.stored

			_, done, p := f.Ensure(t.Context(), website, wanted(website, test.content))
			if done != test.want || (problem.ResultOf(p) == problem.Conflict) != test.wantConflict {
				t.Errorf("%s, %v, want %s and a conflict: %t", done, p, test.want, test.wantConflict)
			}
			got := ""
			if f.stored != nil {
				got = f.stored.Annotations[cached.GenerationAnnotation]
			}
			if got != test.wantWritten {
				t.Errorf("the child is of generation %q, want %q", got, test.wantWritten)
			}

			if deleted, p := f.Delete(t.Context(), website, childName); test.written == "3" && test.stored == 3 &&
				(deleted != Unchanged || p == nil) {
				t.Errorf("deleting it from an older generation: %s, %v", deleted, p)
			}
		})
	}
}
