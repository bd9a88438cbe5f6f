package v1alpha1

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/diff"
)

func owner(manager, version, fields string, tweaks ...func(*metav1.ManagedFieldsEntry)) metav1.ManagedFieldsEntry {
	entry := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "mycontroller.nevermosby.io/" + version,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Time: &metav1.Time{Time: time.Unix(1, 0)},
	}
	for _, tweak := range tweaks {
		tweak(&entry)
	}
	return entry
}

func at(seconds int64) func(*metav1.ManagedFieldsEntry) {
	return func(e *metav1.ManagedFieldsEntry) { e.Time = &metav1.Time{Time: time.Unix(seconds, 0)} }
}

func of(subresource string) func(*metav1.ManagedFieldsEntry) {
	return func(e *metav1.ManagedFieldsEntry) { e.Subresource = subresource }
}

func TestManagedFieldsInV1beta1(t *testing.T) {
	const alphaSpec, betaSpec = `{"f:spec":{"f:gitRepo":{},"f:replicas":{}}}`,
		`{"f:spec":{"f:replicas":{},"f:source":{"f:git":{"f:repository":{}}}}}`
	tests := map[string]struct{ given, want []metav1.ManagedFieldsEntry }{
		"none": {},
		"of v1beta1": {
			given: []metav1.ManagedFieldsEntry{owner("a", "v1beta1", betaSpec)},
			want:  []metav1.ManagedFieldsEntry{owner("a", "v1beta1", betaSpec)},
		},
		"the field of another path": {
			given: []metav1.ManagedFieldsEntry{owner("a", "v1alpha1", alphaSpec)},
			want:  []metav1.ManagedFieldsEntry{owner("a", "v1beta1", betaSpec)},
		},
		"fields of the same path": {
			given: []metav1.ManagedFieldsEntry{owner("a", "v1alpha1",
				`{"f:metadata":{"f:labels":{"f:team":{}}},"f:spec":{"f:deploymentName":{}}}`)},
			want: []metav1.ManagedFieldsEntry{owner("a", "v1beta1",
				`{"f:metadata":{"f:labels":{"f:team":{}}},"f:spec":{"f:deploymentName":{}}}`)},
		},
		"no manager owns the annotation": {
			given: []metav1.ManagedFieldsEntry{
				owner("a", "v1alpha1",
					`{"f:metadata":{"f:annotations":{"f:mycontroller.nevermosby.io/fields-of-other-versions":{}}}}`),
				owner("b", "v1alpha1",
					`{"f:metadata":{"f:annotations":{"f:mycontroller.nevermosby.io/fields-of-other-versions":{},"f:note":{}}}}`),
			},
			want: []metav1.ManagedFieldsEntry{owner("b", "v1beta1", `{"f:metadata":{"f:annotations":{"f:note":{}}}}`)},
		},
		"one manager in both versions": {
			given: []metav1.ManagedFieldsEntry{owner("a", "v1beta1", `{"f:spec":{"f:replicas":{}}}`, at(1)),
				owner("a", "v1alpha1", `{"f:spec":{"f:gitRepo":{}}}`, at(2))},
			want: []metav1.ManagedFieldsEntry{owner("a", "v1beta1", betaSpec, at(2))},
		},
		"two managers, and two subresources": {
			given: []metav1.ManagedFieldsEntry{owner("a", "v1beta1", betaSpec), owner("b", "v1alpha1", alphaSpec),
				owner("b", "v1alpha1", alphaSpec, of("scale"))},
			want: []metav1.ManagedFieldsEntry{owner("a", "v1beta1", betaSpec), owner("b", "v1beta1", betaSpec),
				owner("b", "v1beta1", betaSpec, of("scale"))},
		},
		"unreadable": {
			given: []metav1.ManagedFieldsEntry{owner("a", "v1alpha1", `{`), {APIVersion: alphaVersion}},
			want:  []metav1.ManagedFieldsEntry{owner("a", "v1alpha1", `{`), {APIVersion: alphaVersion}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			given := append([]metav1.ManagedFieldsEntry{}, test.given...)
			if got := ManagedFieldsInV1beta1(test.given); !apiequality.Semantic.DeepEqual(got, test.want) {
				t.Errorf("owners (- got, + want):\n%s", diff.Diff(got, test.want))
			}
			if !apiequality.Semantic.DeepEqual(test.given, given) {
				t.Errorf("the entries given were changed:\n%s", diff.Diff(test.given, given))
			}
		})
	}
}

// TestManagedFieldsThereAndBack: a client of v1alpha1 that writes back a Website
// changes no owner, not even of fields that it does not know.
func TestManagedFieldsThereAndBack(t *testing.T) {
	stored := []metav1.ManagedFieldsEntry{
		owner("a", "v1beta1", `{"f:spec":{"f:polling":{"f:periodSeconds":{}},"f:source":{"f:git":{"f:ref":{"f:branch":{}},`+
			`"f:repository":{}},"f:path":{}}}}`),
		owner("b", "v1beta1", `{"f:spec":{"f:replicas":{}}}`, of("scale")),
		owner("c", "v1", `{"f:spec":{"f:source":{"f:git":{"f:repository":{}}}}}`),
	}
	read := managedFieldsInV1alpha1(stored)
	if want := owner("a", "v1alpha1", `{"f:spec":{"f:gitRepo":{},"f:polling":{"f:periodSeconds":{}},`+
		`"f:source":{"f:git":{"f:ref":{"f:branch":{}}},"f:path":{}}}}`); !apiequality.Semantic.DeepEqual(read[0], want) {
		t.Errorf("read as v1alpha1 (- got, + want):\n%s", diff.Diff(read[0], want))
	}
	if stored[0].APIVersion != betaVersion {
		t.Error("the stored entries were changed")
	}
	if back := ManagedFieldsInV1beta1(read); !apiequality.Semantic.DeepEqual(back, stored) {
		t.Errorf("there and back (- got, + want):\n%s", diff.Diff(back, stored))
	}
}

// TestFieldSetsAreShared: a cached set is translated once, and all objects share the result.
func TestFieldSetsAreShared(t *testing.T) {
	const beta, alpha = `{"f:spec":{"f:source":{"f:git":{"f:repository":{}}}}}`, `{"f:spec":{"f:gitRepo":{}}}`
	first, second := fieldsInV1alpha1(metav1.NewFieldsV1(beta)), fieldsInV1alpha1(metav1.NewFieldsV1(beta))
	if first.GetRawString() != alpha || first != second {
		t.Errorf("got %s at %p, and then %s at %p, want %s twice at one place", first, first, second, second, alpha)
	}
}

// TestManagedFieldsOfOneManager: a client may send many entries of one manager. Their total cost is the
// sum of their costs.
func TestManagedFieldsOfOneManager(t *testing.T) {
	var large strings.Builder
	large.WriteString(`{"f:x":{`)
	for i := range 2000 {
		fmt.Fprintf(&large, `"f:m%d":{},`, i)
	}
	large.WriteString(`"f:last":{}}}`)
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		first := []metav1.ManagedFieldsEntry{owner("a", version, large.String())}
		others := []metav1.ManagedFieldsEntry{owner("b", "v1alpha1", `{"f:z":{}}`)}
		for i := range 500 {
			others = append(others, owner("a", version, fmt.Sprintf(`{"f:x":{"f:other%d":{}}}`, i), at(int64(i))))
		}
		all := slices.Concat(first, others)
		allocations := func(entries []metav1.ManagedFieldsEntry) float64 {
			return testing.AllocsPerRun(2, func() { ManagedFieldsInV1beta1(entries) })
		}
		if got, want := allocations(all),
			allocations(first)+allocations(others)+allocations(slices.Concat(first, others[:2])); got > 2*want {
			t.Errorf("%s: %.0f allocations for all entries, want about the %.0f of its parts", version, got, want)
		}
		got := ManagedFieldsInV1beta1(all)
		if len(got) != 2 || !got[0].Time.Equal(&metav1.Time{Time: time.Unix(499, 0)}) {
			t.Fatalf("%s: got %d entries, the first of %s, want 2 and the latest time", version, len(got), got[0].Time)
		}
		if set, ok := fieldsOf(&got[0]); !ok || set.Size() != 2001+500 {
			t.Errorf("%s: the merged entry has not the fields of all", version)
		}
	}
}

// TestUnreadableManagedFields: an unreadable entry stays, and is parsed no more than twice.
func TestUnreadableManagedFields(t *testing.T) {
	broken := owner("a", "v1beta1", `{"f:x":{`+strings.Repeat(`"f:m":{},`, 2000))
	given := []metav1.ManagedFieldsEntry{owner("b", "v1alpha1", `{"f:z":{}}`), broken}
	want := []metav1.ManagedFieldsEntry{owner("b", "v1beta1", `{"f:z":{}}`), broken}
	for range 500 {
		given = append(given, owner("a", "v1beta1", `{"f:y":{}}`))
	}
	want = append(want, owner("a", "v1beta1", `{"f:y":{}}`))
	if got := ManagedFieldsInV1beta1(given); !apiequality.Semantic.DeepEqual(got, want) {
		t.Errorf("got %d entries, want %d", len(got), len(want))
	}
	few := testing.AllocsPerRun(2, func() { ManagedFieldsInV1beta1(given[:4]) })
	if got := testing.AllocsPerRun(2, func() { ManagedFieldsInV1beta1(given) }); got > 10*few {
		t.Errorf("%.0f allocations, want at most ten times the %.0f of two entries", got, few)
	}
}
