package validation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
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
		"ordinary": {change: func(*website.Website) {}},
		"many labels": {change: labels, want: "labels, finalizers and ownerReferences as JSON, together, may not be more " +
			"than 65536 bytes"},
		"many owners": {change: func(w *website.Website) {
			w.OwnerReferences = make([]metav1.OwnerReference, 2000)
		}, want: "labels, finalizers and ownerReferences"},
		"many tolerations": {change: func(w *website.Website) {
			w.Spec.Scheduling.Tolerations = make([]corev1.Toleration, 30000)
		}, want: "scheduling and resources as JSON, together, may not be more than 65536 bytes"},
		"managed fields": {change: managedFields,
			want: "the Website, with the managed fields of all its field managers, may not be more than 524288 bytes"},
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

// TestNumbersMayShrink: a Website that was stored above a maximum number can be changed, and may lose some elements,
// but not gain any.
func TestNumbersMayShrink(t *testing.T) {
	of := func(n int) *website.Website {
		return &website.Website{ObjectMeta: metav1.ObjectMeta{Finalizers: make([]string, maxFinalizers+n),
			ManagedFields: make([]metav1.ManagedFieldsEntry, MaxManagedFields+n)}}
	}
	if errs := validateObjectSize(of(5), of(6)); len(errs) > 0 {
		t.Errorf("fewer than before: %v", errs)
	}
	if errs := validateObjectSize(of(7), of(6)); len(errs) != 2 {
		t.Errorf("more than before: %v, want two errors", errs)
	}
}

// TestFinalizersCanBeRemoved: the client that removes a finalizer of the largest object is recorded
// as its manager.
func TestFinalizersCanBeRemoved(t *testing.T) {
	entry := func(size int) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{FieldsV1: metav1.NewFieldsV1(strings.Repeat(" ", size))}
	}
	old := &website.Website{ObjectMeta: metav1.ObjectMeta{
		Finalizers: []string{"example.com/a"}, ManagedFields: make([]metav1.ManagedFieldsEntry, MaxManagedFields),
	}}
	old.ManagedFields[0] = entry(MaxBytes)
	updated := old.DeepCopy()
	updated.ManagedFields = append(updated.ManagedFields, entry(1000))
	if errs := validateObjectSize(updated, old); len(errs) != 2 {
		t.Errorf("with the finalizer: %v, want one error each for the size and the number of entries", errs)
	}
	updated.Finalizers = nil
	if errs := validateObjectSize(updated, old); len(errs) > 0 {
		t.Errorf("without the finalizer: %v", errs)
	}
	updated.ManagedFields[1] = entry(maxEntryBytes)
	if errs := validateObjectSize(updated, old); len(errs) != 1 {
		t.Errorf("without the finalizer, and much larger: %v, want an error", errs)
	}
	old.Labels = map[string]string{"a": strings.Repeat("v", maxSmallPartsBytes)}
	updated = old.DeepCopy()
	updated.Finalizers, updated.Labels["b"] = nil, strings.Repeat("v", 100)
	if errs := validateObjectSize(updated, old); len(errs) != 1 {
		t.Errorf("without the finalizer, and with another label: %v, want an error", errs)
	}
}

// TestLargerStoredWebsites: a Website stored under older rules can be changed if it does not grow.
func TestLargerStoredWebsites(t *testing.T) {
	stored := newWebsite(func(w *website.Website) {
		w.Finalizers = []string{"example.com/a"}
		for i := range 60 {
			path := fmt.Sprintf("/%04d%s", i, strings.Repeat("a", 1000))
			w.Spec.Serving.Redirects = append(w.Spec.Serving.Redirects,
				v1beta1.Redirect{From: path, To: "/" + strings.Repeat("b", 2000), StatusCode: 301})
		}
		message := strings.Repeat("m", 5<<10)
		for i := range 60 {
			condition := metav1.Condition{Type: "Routed", Status: "True", Reason: "R", Message: message,
				LastTransitionTime: metav1.Unix(1, 0)}
			w.Status.Hosts = append(w.Status.Hosts,
				v1beta1.WebsiteHostStatus{Name: fmt.Sprint("h", i), Conditions: []metav1.Condition{condition}})
			condition.Type = fmt.Sprint("C", i)
			w.Status.Conditions = append(w.Status.Conditions, condition)
		}
	})
	last := len(stored.Spec.Serving.Redirects) - 1
	tests := map[string]struct {
		change func(*website.Website)
		want   string
	}{
		"nothing":      {change: func(*website.Website) {}},
		"no finalizer": {change: func(w *website.Website) { w.Finalizers = nil }},
		"a label":      {change: func(w *website.Website) { w.Labels = map[string]string{"a": "b"} }},
		"replicas":     {change: func(w *website.Website) { w.Spec.Replicas = new(int32(3)) }},
		"one redirect less": {change: func(w *website.Website) {
			w.Spec.Serving.Redirects = w.Spec.Serving.Redirects[:last]
		}},
		"a shorter redirect": {change: func(w *website.Website) { w.Spec.Serving.Redirects[last].To = "/b" }},
		"suspend":            {change: func(w *website.Website) { w.Spec.Suspend = new(true) }},
		"a header": {change: func(w *website.Website) {
			w.Spec.Serving.Headers = []v1beta1.ResponseHeader{{Path: "/", Name: "X-A", Value: "1"}}
		}},
		"a count": {change: func(w *website.Website) { w.Status.UpdatedReplicas = 1 }},
		"a longer redirect": {change: func(w *website.Website) { w.Spec.Serving.Redirects[last].To += "b" },
			want: "spec.serving.redirects: Too long: the spec may not be more than 131072 bytes as JSON"},
		"another status":    {change: func(w *website.Website) { w.Status.Commit = "" }},
		"one host less":     {change: func(w *website.Website) { w.Status.Hosts = w.Status.Hosts[1:] }},
		"a shorter message": {change: func(w *website.Website) { w.Status.Conditions[0].Message = "m" }},
		"another message of the size": {change: func(w *website.Website) {
			w.Status.Conditions[0].Message = strings.Repeat("n", 5<<10)
		}},
		"a request to sync": {change: func(w *website.Website) {
			w.Status.Sync = &v1beta1.WebsiteSyncStatus{LastRequest: v1beta1.WebsiteSyncRecord{ID: 1, Time: metav1.Unix(1, 0)}}
		}},
		"a longer message": {change: func(w *website.Website) { w.Status.Conditions[3].Message += "m" },
			want: "status.conditions[3].message: Too long: may not be more than 4096 bytes: the size is 5121"},
		"one host more": {change: func(w *website.Website) {
			w.Status.Hosts = append(w.Status.Hosts, v1beta1.WebsiteHostStatus{Name: "more"})
		}, want: "status.hosts: Too long: the status may not be more than 262144 bytes as JSON"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			updated := stored.DeepCopy()
			test.change(updated)
			updated.ResourceVersion, stored.ResourceVersion = "1", "1"
			errs := append(ValidateWebsiteUpdate(updated, stored), ValidateWebsiteStatusUpdate(updated, stored)...)
			if got := fmt.Sprint(errs.ToAggregate()); test.want == "" && len(errs) > 0 || !strings.Contains(got, test.want) {
				t.Errorf("errors = %s, want %q", got, test.want)
			}
		})
	}
}

// TestMaxGrowth: the status, the spec and the metadata with the highest ratio of JSON to protobuf stay below the bound.
func TestMaxGrowth(t *testing.T) {
	zero := metav1.Time{}
	for name, status := range map[string]v1beta1.WebsiteStatus{
		"a number":    {ObservedGeneration: 1},
		"a condition": {Conditions: make([]metav1.Condition, 100)},
		"a host": {
			Hosts: []v1beta1.WebsiteHostStatus{{CertificateExpirationTime: &zero, Conditions: make([]metav1.Condition, 1)}},
		},
		"a certificate": {Hosts: []v1beta1.WebsiteHostStatus{{CertificateExpirationTime: &zero}}},
		"a preview":     {Previews: make([]v1beta1.WebsitePreviewStatus, 100)},
		"a release":     {History: make([]v1beta1.WebsiteRelease, 10)},
		"characters":    {URLs: []string{strings.Repeat("\x01", 1000)}},
	} {
		if size, assumed := StatusSize(&status), maxGrowth*status.Size(); size > assumed {
			t.Errorf("%s: %d bytes as JSON, %d are assumed", name, size, assumed)
		}
	}
	type sized interface{ Size() int }
	for name, part := range map[string]sized{
		"redirects":   &v1beta1.WebsiteServing{Redirects: make([]v1beta1.Redirect, 100)},
		"headers":     &v1beta1.WebsiteServing{Headers: make([]v1beta1.ResponseHeader, 100)},
		"tolerations": &v1beta1.WebsiteScheduling{Tolerations: make([]corev1.Toleration, 100)},
		"seconds": &v1beta1.WebsiteScheduling{Tolerations: slices.Repeat(
			[]corev1.Toleration{{TolerationSeconds: ptr.To[int64](1)}}, 100)},
		"characters": &v1beta1.WebsiteServing{Index: strings.Repeat("\x01", 1000)},
		"owners":     &metav1.ObjectMeta{OwnerReferences: make([]metav1.OwnerReference, 100)},
		"controllers": &metav1.ObjectMeta{OwnerReferences: slices.Repeat(
			[]metav1.OwnerReference{{Controller: ptr.To(false), BlockOwnerDeletion: ptr.To(false)}}, 100)},
	} {
		if size, assumed := jsonSize(part), maxGrowth*part.Size(); size > assumed {
			t.Errorf("%s: %d bytes as JSON, %d are assumed", name, size, assumed)
		}
	}
}
