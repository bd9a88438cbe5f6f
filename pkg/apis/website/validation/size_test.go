package validation

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

func TestObjectSize(t *testing.T) {
	labels := func(w *website.Website) {
		w.Labels = map[string]string{}
		for i := range 700 {
			w.Labels[fmt.Sprintf("l%d-%s", i, strings.Repeat("l", 50))] = strings.Repeat("v", 60)
		}
	}
	managedFields := func(w *website.Website) {
		w.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(strings.Repeat(" ", MaxBytes))}}
	}
	tests := map[string]struct {
		change func(*website.Website)
		want   string
	}{
		"ordinary":    {change: func(*website.Website) {}},
		"many labels": {change: labels, want: "labels, finalizers and ownerReferences as JSON, together, may not be more than 65536 bytes"},
		"many owners": {change: func(w *website.Website) {
			w.OwnerReferences = make([]metav1.OwnerReference, 2000)
		}, want: "labels, finalizers and ownerReferences"},
		"many tolerations": {change: func(w *website.Website) {
			w.Spec.Scheduling.Tolerations = make([]corev1.Toleration, 30000)
		}, want: "scheduling and resources as JSON, together, may not be more than 65536 bytes"},
		"managed fields": {change: managedFields, want: "the Website, with the managed fields of all its field managers, may not be more than 1048576 bytes"},
		"many annotations": {change: func(w *website.Website) {
			w.Annotations = map[string]string{}
			for i := range maxAnnotations + 1 {
				w.Annotations[fmt.Sprint("a", i)] = ""
			}
		}, want: "metadata.annotations: Too many: 1001: must have at most 1000 items"},
		"more owners than are compared": {change: func(w *website.Website) {
			w.OwnerReferences = make([]metav1.OwnerReference, MaxOwnerReferences+1)
		}, want: "metadata.ownerReferences: Too many: 129: must have at most 128 items"},
		"more finalizers than are compared": {change: func(w *website.Website) {
			w.Finalizers = make([]string, maxFinalizers+1)
		}, want: "metadata.finalizers: Too many: 129: must have at most 128 items"},
		"more field managers than are merged": {change: func(w *website.Website) {
			w.ManagedFields = make([]metav1.ManagedFieldsEntry, MaxManagedFields+1)
		}, want: "metadata.managedFields: Too many: 257: must have at most 256 items"},
		"a large status": {change: func(w *website.Website) { w.Status.URLs = []string{strings.Repeat("u", MaxBytes)} }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := &website.Website{}
			test.change(w)
			got := fmt.Sprint(validateObjectSize(w, nil))
			if test.want == "" && got != "[]" || !strings.Contains(got, test.want) {
				t.Errorf("errors = %s, want %q", got, test.want)
			}
			if errs := validateObjectSize(w, w.DeepCopy()); len(errs) > 0 {
				t.Errorf("a Website that was as large cannot be updated: %v", errs)
			}
		})
	}
}

// TestNumbersMayShrink: a Website that was stored with more than there may be can be changed, and may lose some, but gets no more.
func TestNumbersMayShrink(t *testing.T) {
	of := func(n int) *website.Website {
		return &website.Website{ObjectMeta: metav1.ObjectMeta{Finalizers: make([]string, maxFinalizers+n), ManagedFields: make([]metav1.ManagedFieldsEntry, MaxManagedFields+n)}}
	}
	if errs := validateObjectSize(of(5), of(6)); len(errs) > 0 {
		t.Errorf("fewer than before: %v", errs)
	}
	if errs := validateObjectSize(of(7), of(6)); len(errs) != 2 {
		t.Errorf("more than before: %v, want two errors", errs)
	}
}
