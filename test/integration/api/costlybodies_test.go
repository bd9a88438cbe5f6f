package api

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// costlyNumber takes minutes and gigabytes to parse as a quantity.
const costlyNumber = "12345678901234567890e999999999"

// TestTextLikeQuantities: names, branches and annotations may look like numbers with an exponent,
// also in the protobuf of typed clients and of the controller, which writes the whole Website with
// its status.
func TestTextLikeQuantities(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	w := framework.MustCreate(t, framework.NewWebsite(namespace, "e2024", func(w *v1beta1.Website) {
		w.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: "1e100"}
		w.Annotations = map[string]string{"ticket": costlyNumber}
	}))
	framework.WaitSettled(t, namespace, w.Name)
	websites := framework.Websites(t, namespace)
	for kind, patch := range map[types.PatchType]string{
		types.JSONPatchType:  `[{"op":"replace","path":"/spec/source/git/ref/branch","value":"e12345"}]`,
		types.MergePatchType: `{"metadata":{"labels":{"resources":"e12345"}}}`,
	} {
		if _, err := websites.Patch(t.Context(), w.Name, kind, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Errorf("%s: %v", patch, err)
		}
	}
	framework.WaitSettled(t, namespace, w.Name)
}

// TestCostlyQuantities: a patch cannot move a stored text into a quantity.
func TestCostlyQuantities(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	w := framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", func(w *v1beta1.Website) {
		w.Annotations = map[string]string{"x": costlyNumber}
	}))
	websites := framework.Websites(t, namespace)
	for _, patch := range []string{
		`[{"op":"copy","from":"/metadata/annotations/x","path":"/spec/storage/sizeLimit"}]`,
		`[{"op":"move","from":"/metadata/annotations","path":"/spec/resources/server/limits"}]`,
		`[{"op":"replace","path":"/spec/storage/sizeLimit","value":"` + costlyNumber + `"}]`,
	} {
		if _, err := websites.Patch(t.Context(), w.Name, types.JSONPatchType, []byte(patch),
			metav1.PatchOptions{}); !apierrors.IsBadRequest(err) {
			t.Errorf("%s: %v, want a bad request", patch, err)
		}
	}
}

// TestLargeCopies: a short JSON patch cannot copy a small Website's fields into a large one.
func TestLargeCopies(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	w := framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", func(w *v1beta1.Website) {
		w.Annotations = map[string]string{"x": strings.Repeat("x", 3<<10)}
	}))
	for copies, accepted := range map[int]bool{2: true, 3: false} {
		var operations []string
		for i := range copies {
			operations = append(
				operations, fmt.Sprintf(`{"op":"copy","from":"/metadata/annotations/x","path":"/metadata/annotations/x%d"}`, i),
			)
		}
		patch := []byte("[" + strings.Join(operations, ",") + "]")
		_, err := framework.Websites(t, namespace).Patch(t.Context(), w.Name, types.JSONPatchType, patch,
			metav1.PatchOptions{})
		if accepted != (err == nil) || err != nil && !apierrors.IsInvalid(err) {
			t.Errorf("%d copies of 3 KiB: %v, want it accepted: %t", copies, err, accepted)
		}
	}
}
