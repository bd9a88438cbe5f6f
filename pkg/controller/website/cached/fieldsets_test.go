package cached

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// TestFieldSets: the sets equal the sets of the whole, and equal ones are decoded once, except large
// ones and the ones for metadata.
func TestFieldSets(t *testing.T) {
	large := `{"f:` + strings.Repeat("x", maxReadSetBytes) + `":{}}`
	for name, test := range map[string]struct {
		fields string
		once   bool
	}{
		"f:spec":     {`{"f:containers":{"k:{\"name\":\"nginx\"}":{".":{},"f:image":{}}},"f:selector":{}}`, true},
		"f:data":     {`{}`, true},
		"f:metadata": {`{"f:ownerReferences":{"k:{\"uid\":\"1\"}":{}}}`, false},
		"f:large":    {large, false},
	} {
		fields := metav1.NewFieldsV1(`{"` + name + `":` + test.fields + `}`)
		var whole fieldpath.Set
		if err := whole.FromJSON(fields.GetRawReader()); err != nil {
			t.Fatal(err)
		}
		first, err := fieldSets(fields)
		if err != nil {
			t.Fatal(err)
		}
		second, err := fieldSets(metav1.NewFieldsV1(fields.GetRawString()))
		if err != nil {
			t.Fatal(err)
		}
		if !first[name].Equals(&whole) || !second[name].Equals(&whole) {
			t.Errorf("%s: got %v and %v, want %v", name, first[name], second[name], &whole)
		}
		if once := first[name] == second[name]; once != test.once {
			t.Errorf("%s: read once %v, want %v", name, once, test.once)
		}
	}
	const control = "f:\x01"
	if sets, err := fieldSets(metav1.NewFieldsV1(`{"f:\u0001":{}}`)); err != nil || sets[control].Empty() {
		t.Errorf("a member with a control character: got %v, %v", sets, err)
	}
	for _, broken := range []string{`{`, `{"f:spec":{"x":{}}}`, `[]`} {
		if sets, err := fieldSets(metav1.NewFieldsV1(broken)); err == nil {
			t.Errorf("%s: got %v", broken, sets)
		}
	}
}
