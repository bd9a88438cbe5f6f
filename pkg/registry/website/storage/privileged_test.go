package storage

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/generic"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestPrivilegedFields sets fields that require verbs of their own on Websites, by
// every kind of write.
func TestPrivilegedFields(t *testing.T) {
	const orClusterIP = ", or set the type ClusterIP, the default of v1beta1"
	tests := map[string]struct {
		tweak       func(*website.Website)
		field, verb string
		orElse      string
	}{
		"load balancer": {func(w *website.Website) { w.Spec.Service.Type = v1beta1.ServiceTypeLoadBalancer },
			"spec.service.type", "expose", orClusterIP},
		"any node port": {func(w *website.Website) { w.Spec.Service.Type = v1beta1.ServiceTypeNodePort }, "spec.service.type",
			"expose", orClusterIP},
		"node port": {func(w *website.Website) {
			w.Spec.Service.Type, w.Spec.Service.NodePort = v1beta1.ServiceTypeNodePort, 30080
		}, "spec.service.nodePort", "expose", ""},
		"tolerations": {func(w *website.Website) {
			w.Spec.Scheduling.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
		}, "spec.scheduling.tolerations", "schedule", ""},
	}
	p := &policy{allowed: []string{"rich/kubia"}}
	storage := newStorageWithPolicy(t, p, generic.UndecoratedStorage)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { deleteAll(t, storage) })
			inV1beta1 := test.field + ": Forbidden: requires " + test.verb + ` on websites "kubia" in namespace "default": ` +
				`ask for a role that grants it` + test.orElse
			want := map[string]string{"v1beta1": inV1beta1,
				"v1alpha1": "metadata.annotations[" + website.AnnotationCarriedFields + "]." + inV1beta1}
			for version, want := range want {
				ctx := as(requestContext(version, ""), poor)
				_, err := storage.Website.Create(ctx, newWebsite(test.tweak), nil, &metav1.CreateOptions{})
				checkRefused(t, err, want)
				_, _, err = storage.Website.Update(ctx, "kubia", changed(func(w *website.Website) { *w = *newWebsite(test.tweak) }),
					nil, nil, true, &metav1.UpdateOptions{})
				checkRefused(t, err, want)
			}
			poorly, richly := as(requestContext("v1beta1", ""), poor), as(requestContext("v1beta1", ""), rich)
			if _, err := storage.Website.Create(poorly, newWebsite(), nil, &metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			for version, want := range want {
				_, _, err := storage.Website.Update(as(requestContext(version, ""), poor), "kubia", changed(test.tweak), nil, nil,
					false, &metav1.UpdateOptions{})
				checkRefused(t, err, want)
			}
			if _, _, err := storage.Website.Update(richly, "kubia", changed(test.tweak), nil, nil, false,
				&metav1.UpdateOptions{}); err != nil {
				t.Fatalf("refused although the user has the permission: %v", err)
			}
			p.checked = nil
			if _, _, err := storage.Website.Update(
				poorly, "kubia", changed(func(w *website.Website) { w.Spec.Source.Path = "docs" }), nil, nil, false,
				&metav1.UpdateOptions{},
			); err != nil || len(p.checked) > 0 {
				t.Errorf("another field: %v after the checks %+v, want neither an error nor a check", err, p.checked)
			}
		})
	}
}
