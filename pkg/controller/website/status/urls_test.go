package status

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

func TestURLs(t *testing.T) {
	service := func(tweak func(*corev1.Service)) *cached.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		tweak(s)
		return cached.OfService(s)
	}
	on := func(hosts ...string) []Pod {
		var pods []Pod
		for _, host := range hosts {
			pod := newPod(host)
			pod.HostIP = host
			pods = append(pods, pod)
		}
		return pods
	}
	nodePort := func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30080 }
	for name, test := range map[string]struct {
		service *cached.Service
		pods    []Pod
		want    []string
	}{
		"no service":   {nil, on("192.0.2.1"), nil},
		"cluster only": {service(func(*corev1.Service) {}), on("192.0.2.1"), []string{"http://s.ns.svc"}},
		"node port": {service(nodePort), on("192.0.2.2", "192.0.2.1", "192.0.2.2"),
			[]string{"http://192.0.2.1:30080", "http://192.0.2.2:30080", "http://s.ns.svc"}},
		"a port of another manager comes first": {service(func(s *corev1.Service) {
			s.Spec.Ports = []corev1.ServicePort{{Port: 9090, NodePort: 30090}, {Port: 80, NodePort: 30080}}
		}), on("192.0.2.1"), []string{"http://192.0.2.1:30080", "http://s.ns.svc"}},
		"many nodes": {service(nodePort), on("192.0.2.4", "192.0.2.3", "192.0.2.2", "192.0.2.1"),
			[]string{"http://192.0.2.1:30080", "http://192.0.2.2:30080", "http://192.0.2.3:30080", "http://s.ns.svc"}},
		"IPv6 node": {service(nodePort), on("2001:db8::1"), []string{"http://[2001:db8::1]:30080", "http://s.ns.svc"}},
		"load balancer": {service(func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.com"}, {IP: "2001:db8::2"}}
		}), nil, []string{"http://lb.example.com", "http://[2001:db8::2]", "http://s.ns.svc"}},
		"load balancer of a Service that is being deleted": {service(func(s *corev1.Service) {
			s.DeletionTimestamp = &metav1.Time{Time: testNow}
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.com"}}
		}), nil, []string{"http://s.ns.svc"}},
	} {
		if got := urlsOf(test.service, (&Input{Pods: test.pods}).nodes()); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestURLsDuringATakeover: the node port stays reachable, so its addresses stay in the status.
func TestURLsDuringATakeover(t *testing.T) {
	former := []*cached.Pod{{HostIP: "192.0.2.1"}}
	own := newPod("own")
	own.HostIP = "192.0.2.2"
	for name, test := range map[string]struct {
		former []*cached.Pod
		pods   []Pod
		want   []string
	}{
		"former pods serve":             {former, nil, []string{"http://192.0.2.1:30080", "http://s.ns.svc"}},
		"the first new pod is ready":    {nil, []Pod{own}, []string{"http://192.0.2.2:30080", "http://s.ns.svc"}},
		"the Service leads to own pods": {nil, nil, []string{"http://s.ns.svc"}},
	} {
		service := cached.OfService(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}}},
		})
		if got := Compute(newInput(func(in *Input) {
			in.Service, in.Pods, in.FormerPods = service, test.pods, test.former
		})).URLs; !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestNodePortIsRestored: a missing Service is created again with its node port, unless its name is
// taken.
func TestNodePortIsRestored(t *testing.T) {
	website := newWebsite(func(w *v1beta1.Website) {
		w.Status.NodePort, w.Status.URLs = 30080,
			[]string{"http://192.0.2.1:30080"}
	})
	for reason, want := range map[string]int32{v1beta1.WebsiteReasonQuotaExceeded: 30080,
		v1beta1.WebsiteReasonNameTaken: 0} {
		got := Compute(&Input{Website: website, Problem: &problem.Problem{Reason: reason, Message: "x"}, Now: testNow})
		if got.NodePort != want || len(got.URLs) > 0 {
			t.Errorf("%s without children: node port %d, URLs %v; want %d and none", reason, got.NodePort, got.URLs, want)
		}
	}
}
