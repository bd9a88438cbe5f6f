package v1beta1_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestQuantitiesAreRounded: they are rounded as Kubernetes rounds the quantities of pods.
func TestQuantitiesAreRounded(t *testing.T) {
	tests := map[string]string{"500u": "1m", "1n": "1m", "1500u": "2m", "1m": "1m", "0": "0", "2": "2",
		"64Mi": "64Mi", "1.5": "1500m"}
	for given, want := range tests {
		t.Run(given, func(t *testing.T) {
			list := func() corev1.ResourceList { return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(given)} }
			w := &v1beta1.Website{Spec: v1beta1.WebsiteSpec{Resources: v1beta1.WebsiteResources{
				Server: corev1.ResourceRequirements{Requests: list()}, Sync: corev1.ResourceRequirements{Limits: list()},
			}}}
			v1beta1.SetObjectDefaults_Website(w)
			for what, quantities := range map[string]corev1.ResourceList{"server": w.Spec.Resources.Server.Requests,
				"sync": w.Spec.Resources.Sync.Limits} {
				if got := quantities.Cpu(); got.String() != want {
					t.Errorf("%s: %s, want %s", what, got, want)
				}
			}
		})
	}
}

// TestDiskIsRounded: it is rounded to whole bytes.
func TestDiskIsRounded(t *testing.T) {
	for given, want := range map[string]string{"2Gi": "2Gi", "100000000.5": "100000001", "1024Mi": "1Gi",
		"1500M": "1500M"} {
		disk := resource.MustParse(given)
		w := &v1beta1.Website{Spec: v1beta1.WebsiteSpec{Storage: v1beta1.WebsiteStorage{SizeLimit: &disk}}}
		v1beta1.SetObjectDefaults_Website(w)
		if got := w.Spec.Storage.SizeLimit.String(); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
	w := &v1beta1.Website{}
	if v1beta1.SetObjectDefaults_Website(w); w.Spec.Storage.SizeLimit != nil {
		t.Errorf("the default is %s, want none: the controller has it", w.Spec.Storage.SizeLimit)
	}
}

// TestConstantDefaults: no default depends on another field, so that a replacement and a patch get
// the same.
func TestConstantDefaults(t *testing.T) {
	w := &v1beta1.Website{Spec: v1beta1.WebsiteSpec{
		Source:  v1beta1.WebsiteSource{Git: &v1beta1.GitSource{}},
		Serving: v1beta1.WebsiteServing{Redirects: []v1beta1.Redirect{{From: "/a"}, {From: "/b", StatusCode: 302}}},
		Hosts:   []v1beta1.WebsiteHost{{Name: "shop.example.com"}},
	}}
	v1beta1.SetObjectDefaults_Website(w)
	git, redirects := w.Spec.Source.Git, w.Spec.Serving.Redirects
	if git.Submodules != v1beta1.SubmodulesNone || git.CredentialScope != v1beta1.CredentialScopeRepository {
		t.Errorf("the repository is %+v, want submodules None and credentialScope Repository", git)
	}
	if redirects[0].StatusCode != 301 || redirects[1].StatusCode != 302 {
		t.Errorf("the redirects are %+v, want 301 where nothing is set", redirects)
	}
	if want := (v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 60,
		TimeoutSeconds: 120}); w.Spec.Polling != want {
		t.Errorf("polling is %+v, want %+v", w.Spec.Polling, want)
	}
	if w.Spec.Service.Type != v1beta1.ServiceTypeClusterIP || w.Spec.Suspend != nil {
		t.Errorf("service.type is %s and suspend %v, want ClusterIP and none", w.Spec.Service.Type, w.Spec.Suspend)
	}
}
