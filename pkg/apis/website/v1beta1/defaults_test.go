package v1beta1_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestQuantitiesAreRounded: as Kubernetes rounds those of pods.
func TestQuantitiesAreRounded(t *testing.T) {
	tests := map[string]string{"500u": "1m", "1n": "1m", "1500u": "2m", "1m": "1m", "0": "0", "2": "2", "64Mi": "64Mi", "1.5": "1500m"}
	for given, want := range tests {
		t.Run(given, func(t *testing.T) {
			list := func() corev1.ResourceList { return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(given)} }
			w := &v1beta1.Website{Spec: v1beta1.WebsiteSpec{Resources: v1beta1.WebsiteResources{
				Server: corev1.ResourceRequirements{Requests: list()}, Sync: corev1.ResourceRequirements{Limits: list()},
			}}}
			v1beta1.SetObjectDefaults_Website(w)
			for what, quantities := range map[string]corev1.ResourceList{"server": w.Spec.Resources.Server.Requests, "sync": w.Spec.Resources.Sync.Limits} {
				if got := quantities.Cpu(); got.String() != want {
					t.Errorf("%s: %s, want %s", what, got, want)
				}
			}
		})
	}
}

// TestDiskIsRounded: to bytes.
func TestDiskIsRounded(t *testing.T) {
	for given, want := range map[string]string{"2Gi": "2Gi", "100000000.5": "100000001", "1024Mi": "1Gi", "1500M": "1500M"} {
		disk := resource.MustParse(given)
		w := &v1beta1.Website{Spec: v1beta1.WebsiteSpec{Resources: v1beta1.WebsiteResources{Disk: &disk}}}
		v1beta1.SetObjectDefaults_Website(w)
		if got := w.Spec.Resources.Disk.String(); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
	w := &v1beta1.Website{}
	if v1beta1.SetObjectDefaults_Website(w); w.Spec.Resources.Disk != nil {
		t.Errorf("the default is %s, want none: it is that of the controller", w.Spec.Resources.Disk)
	}
}

// TestServiceTypeDependsOnHosts: only where no type is set.
func TestServiceTypeDependsOnHosts(t *testing.T) {
	hosts := []string{"shop.example.com"}
	tests := map[string]struct {
		spec v1beta1.WebsiteSpec
		want v1beta1.ServiceType
	}{
		"no hosts":          {want: v1beta1.ServiceTypeNodePort},
		"hosts":             {spec: v1beta1.WebsiteSpec{Hosts: hosts}, want: v1beta1.ServiceTypeClusterIP},
		"hosts, node port":  {spec: v1beta1.WebsiteSpec{Hosts: hosts, Service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeNodePort}}, want: v1beta1.ServiceTypeNodePort},
		"hosts, a balancer": {spec: v1beta1.WebsiteSpec{Hosts: hosts, Service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeLoadBalancer}}, want: v1beta1.ServiceTypeLoadBalancer},
		"a cluster IP":      {spec: v1beta1.WebsiteSpec{Service: v1beta1.WebsiteService{Type: v1beta1.ServiceTypeClusterIP}}, want: v1beta1.ServiceTypeClusterIP},
	}
	for name, test := range tests {
		w := &v1beta1.Website{Spec: test.spec}
		if v1beta1.SetObjectDefaults_Website(w); w.Spec.Service.Type != test.want {
			t.Errorf("%s: the type is %s, want %s", name, w.Spec.Service.Type, test.want)
		}
	}
}
