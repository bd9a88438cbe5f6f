package workload

import (
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

func TestFormerService(t *testing.T) {
	website := &v1beta1.Website{ObjectMeta: metav1.ObjectMeta{Name: "kubia"},
		Spec: v1beta1.WebsiteSpec{DeploymentName: "kubia-website"}}
	for name, test := range map[string]struct {
		ports []corev1.ServicePort
		want  string
	}{
		"as the original controller makes it": {
			[]corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(80)}}, "",
		},
		"with a name": {[]corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}},
			"http"},
		"of another port": {[]corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 81}}, "http"},
	} {
		t.Run(name, func(t *testing.T) {
			existing := &cached.Service{Ports: test.ports}
			spec := FormerService(website, existing, "1234").Spec
			if want := map[string]string{"app": "website-nginx", "controller": "kubia",
				"pod-template-hash": "1234"}; !maps.Equal(spec.Selector, want) {
				t.Errorf("selector %v, want %v", spec.Selector, want)
			}
			if port := spec.Ports[0]; *port.TargetPort != intstr.FromInt32(80) || ptr.Deref(port.Name, "") != test.want {
				t.Errorf("port %q to %s, want %q to 80", ptr.Deref(port.Name, ""), port.TargetPort, test.want)
			}
		})
	}
}

func TestFormerRevisions(t *testing.T) {
	pod := func(revision string) *cached.Pod { return &cached.Pod{Template: revision} }
	if got := FormerRevisions([]*cached.Pod{pod("a"), pod("b"), pod("a")}); got.Len() != 2 || !got.HasAll("a", "b") {
		t.Errorf("revisions %v, want a and b", got)
	}
}

func TestIsFormer(t *testing.T) {
	for name, test := range map[string]struct {
		deployment *cached.Deployment
		want       bool
	}{
		"none": {nil, false},
		"an ordinary container": {
			withPods(corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx"}, {Name: "git-sync"}}}), true,
		},
		"a sidecar": {
			withPods(corev1.PodSpec{InitContainers: []corev1.Container{{Name: "git-sync"}},
				Containers: []corev1.Container{{Name: "nginx"}}}), false,
		},
	} {
		if got := IsFormer(test.deployment); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}

func withPods(pod corev1.PodSpec) *cached.Deployment {
	return cached.OfDeployment(&appsv1.Deployment{
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: pod}},
	})
}
