package store

import (
	"reflect"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/install"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestSharingCodec: decoded objects equal the encoded ones, and equal parts of them are the same memory.
func TestSharingCodec(t *testing.T) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codec := newSharingCodec(serializer.NewCodecFactory(scheme).LegacyCodec(v1beta1.SchemeGroupVersion))
	quantities := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse(memory)}
	}
	decoded := func(tweak func(*website.Website)) *website.Website {
		t.Helper()
		w := &website.Website{
			ObjectMeta: metav1.ObjectMeta{Name: "site", ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "one", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)},
				{Manager: "two", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)}, {Manager: "three"},
			}},
			Spec: v1beta1.WebsiteSpec{Resources: v1beta1.WebsiteResources{
				Server: corev1.ResourceRequirements{Requests: quantities("10m", "16Mi"), Limits: quantities("1", "256Mi")},
				Sync:   corev1.ResourceRequirements{Limits: quantities("1", "256Mi")},
			}},
		}
		tweak(w)
		data, err := runtime.Encode(codec, w)
		if err != nil {
			t.Fatal(err)
		}
		var have website.Website
		if _, _, err := codec.Decode(data, nil, &have); err != nil {
			t.Fatal(err)
		}
		if !equality.Semantic.DeepEqual(have.Spec.Resources, w.Spec.Resources) ||
			!equality.Semantic.DeepEqual(have.ManagedFields, w.ManagedFields) {
			t.Errorf("decoded %+v, want %+v", have, w)
		}
		return &have
	}
	same := func(a, b corev1.ResourceList) bool {
		return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
	}

	first, second := decoded(func(*website.Website) {}), decoded(func(w *website.Website) { w.Name = "other" })
	if !same(first.Spec.Resources.Server.Requests, second.Spec.Resources.Server.Requests) ||
		!same(first.Spec.Resources.Server.Limits, second.Spec.Resources.Sync.Limits) {
		t.Error("equal resources are there twice")
	}
	if first.ManagedFields[0].FieldsV1 != second.ManagedFields[0].FieldsV1 ||
		first.ManagedFields[0].FieldsV1 == first.ManagedFields[1].FieldsV1 {
		t.Error("equal sets of fields are there twice, or others once")
	}
	for name, tweak := range map[string]func(*website.Website){
		"another quantity": func(w *website.Website) { w.Spec.Resources.Server.Limits = quantities("1", "257Mi") },
		"another unit":     func(w *website.Website) { w.Spec.Resources.Server.Limits = quantities("1", "256M") },
		"one less":         func(w *website.Website) { delete(w.Spec.Resources.Server.Limits, corev1.ResourceCPU) },
		"another name": func(w *website.Website) {
			w.Spec.Resources.Server.Limits = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1"),
				corev1.ResourceMemory: resource.MustParse("256Mi")}
		},
		"another set": func(w *website.Website) { w.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(`{"f:metadata":{}}`) },
	} {
		other := decoded(tweak)
		if same(first.Spec.Resources.Server.Limits, other.Spec.Resources.Server.Limits) &&
			first.ManagedFields[0].FieldsV1 == other.ManagedFields[0].FieldsV1 {
			t.Errorf("%s: shared", name)
		}
	}
}

// TestDecodedDiskIsOnlyRead: several requests encode one decoded Website at the same time, which the race detector
// observes.
func TestDecodedDiskIsOnlyRead(t *testing.T) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codec := newSharingCodec(serializer.NewCodecFactory(scheme).LegacyCodec(v1beta1.SchemeGroupVersion))
	data, err := runtime.Encode(
		codec, &website.Website{
			Spec: v1beta1.WebsiteSpec{Storage: v1beta1.WebsiteStorage{SizeLimit: ptr.To(resource.MustParse("16Gi"))}},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	var decoded website.Website
	if _, _, err := codec.Decode(data, nil, &decoded); err != nil {
		t.Fatal(err)
	}
	var encoding sync.WaitGroup
	for range 2 {
		encoding.Go(func() {
			if got := decoded.Spec.Storage.SizeLimit.String(); got != "16Gi" {
				t.Errorf("the disk is %s", got)
			}
		})
	}
	encoding.Wait()
}
