package backup

import (
	"bytes"
	"fmt"
	"testing"
	"unicode/utf8"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestEachCharacter: an export preserves every character of annotations, although YAML cannot express
// all of them unescaped.
func TestEachCharacter(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := install.Install(scheme); err != nil {
		t.Fatal(err)
	}
	want := website.Website{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "site",
		Annotations: map[string]string{}}}
	want.Spec.Source.Git = &v1beta1.GitSource{Repository: "https://example.com/site.git"}
	for r := rune(0); r <= 0x1ffff; r += 0x100 {
		var value []rune
		for c := r; c < r+0x100; c++ {
			if utf8.ValidRune(c) {
				value = append(value, 'a', c, 'b')
			}
		}
		want.Annotations[fmt.Sprintf("from-%x", r)] = string(value)
	}
	for _, r := range []rune{0, 0x7f, 0x85, 0x9f, 0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff} {
		want.Annotations[fmt.Sprintf("alone-%x", r)] = string(r)
	}
	var out bytes.Buffer
	w := newWriter(&out, scheme)
	if err := w.add(want.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	read := 0
	err := newReader("export", scheme).each(t.Context(), &out, func(_ int, got *website.Website) error {
		read++
		if !apiequality.Semantic.DeepEqual(got.Annotations, want.Annotations) {
			t.Errorf("%d of %d annotations are the same", equalEntries(got.Annotations, want.Annotations), len(want.Annotations))
		}
		return nil
	})
	if err != nil || read != 1 {
		t.Errorf("%d Websites were read, error %v", read, err)
	}
}

// equalEntries returns the number of entries that a and b have in common.
func equalEntries(a, b map[string]string) int {
	n := 0
	for key, value := range a {
		if other, found := b[key]; found && other == value {
			n++
		}
	}
	return n
}
