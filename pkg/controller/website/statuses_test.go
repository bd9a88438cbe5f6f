package website

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func equalStatus(a, b v1beta1.WebsiteStatus) bool { return apiequality.Semantic.DeepEqual(a, b) }

func readyStatus(ready bool, available int32) *v1beta1.WebsiteStatus {
	status := metav1.ConditionFalse
	if ready {
		status = metav1.ConditionTrue
	}
	return &v1beta1.WebsiteStatus{AvailableReplicas: available, Conditions: []metav1.Condition{{Type: "Ready", Status: status}}}
}

func TestStatusIsWrittenOnceItHasSettled(t *testing.T) {
	site := newWebsite()
	for name, test := range map[string]struct {
		reported v1beta1.WebsiteStatus
		status   *v1beta1.WebsiteStatus
		want     time.Duration
	}{
		"nothing changed":    {*readyStatus(true, 1), readyStatus(true, 1), settled},
		"a count":            {*readyStatus(true, 1), readyStatus(true, 2), statusDelay},
		"becomes ready":      {*readyStatus(false, 0), readyStatus(true, 1), 0},
		"is ready no longer": {*readyStatus(true, 1), readyStatus(false, 0), 0},
		"the first report":   {v1beta1.WebsiteStatus{}, readyStatus(false, 0), statusDelay},
		"ready at once":      {v1beta1.WebsiteStatus{}, readyStatus(true, 1), 0},
	} {
		s := &statuses{delay: statusDelay}
		site.Status = test.reported
		if got := s.due(testKey, site, test.status, testNow); got != test.want {
			t.Errorf("%s: due in %v, want %v", name, got, test.want)
		}
	}

	// The wait begins with the first change and is not begun anew by others.
	s := &statuses{delay: statusDelay}
	site.Status = *readyStatus(true, 1)
	s.due(testKey, site, readyStatus(true, 2), testNow)
	if got := s.due(testKey, site, readyStatus(true, 3), testNow.Add(statusDelay/4)); got != statusDelay*3/4 {
		t.Errorf("after a quarter of the delay it is due in %v", got)
	}
	if got := s.due(testKey, site, readyStatus(true, 4), testNow.Add(2*statusDelay)); got != 0 {
		t.Errorf("after the delay it is due in %v", got)
	}
	// It went back to what was reported: the next change waits again.
	s.due(testKey, site, readyStatus(true, 1), testNow.Add(2*statusDelay))
	if got := s.due(testKey, site, readyStatus(true, 2), testNow.Add(3*statusDelay)); got != statusDelay {
		t.Errorf("a later change is due in %v", got)
	}
}

func TestOlderDeploymentIsNotReported(t *testing.T) {
	deployment := func(uid types.UID, version string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}}
	}
	s := &statuses{}
	for i, test := range []struct {
		deployment *appsv1.Deployment
		after      time.Duration
		want       bool
	}{
		{deployment("one", "10"), 0, false},
		{deployment("one", "9"), time.Second, true},
		{deployment("one", "10"), time.Second, false},
		{deployment("one", "100"), time.Second, false},
		{deployment("one", "11"), 2 * time.Second, true},
		{deployment("another", "5"), 2 * time.Second, false},
		{deployment("another", "6"), 2 * time.Second, false},
		// A store that was put back to an older state is believed in the end.
		{deployment("another", "1"), time.Hour, false},
	} {
		if got := s.outdated(testKey, test.deployment, testNow.Add(test.after)); got != test.want {
			t.Errorf("%d: outdated = %t, want %t", i, got, test.want)
		}
	}
}

func TestOwnStatusWritesAreRead(t *testing.T) {
	s := &statuses{}
	version := func(version string) *v1beta1.Website {
		return newWebsite(func(site *v1beta1.Website) { site.ResourceVersion = version })
	}
	if got := s.latest(testKey, version("1")); got.ResourceVersion != "1" {
		t.Errorf("latest = %s", got.ResourceVersion)
	}
	s.wrote(testKey, version("1"), version("2"))
	s.wrote(testKey, version("2"), version("3"))
	if got := s.latest(testKey, version("1")); got.ResourceVersion != "3" {
		t.Errorf("while the cache lags: %s, want what was written", got.ResourceVersion)
	}
	if got := s.latest(testKey, version("4")); got.ResourceVersion != "4" {
		t.Errorf("when it shows something newer: %s", got.ResourceVersion)
	}
	if got := s.latest(testKey, version("1")); got.ResourceVersion != "1" {
		t.Error("what was written is remembered for ever")
	}
}

// TestCreatingCostsTwoStatusWrites plays how a Deployment reports while it comes
// up, every tenth of a second another count.
func TestCreatingCostsTwoStatusWrites(t *testing.T) {
	f := newFixture(t, newWebsite(withReplicas(3)))
	clock := testingclock.NewFakeClock(testNow)
	f.controller.clock, f.controller.statuses.delay = clock, statusDelay
	for tick := range 40 {
		if _, found := live[*appsv1.Deployment](f, testDeployment); found {
			edit(f, testDeployment, func(d *appsv1.Deployment) {
				n := min(3, int32(tick/10))
				d.Status = appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: min(3, int32(tick)), ReadyReplicas: n, AvailableReplicas: n}
			})
		}
		f.syncCaches()
		if problems := f.reconcile(testKey); len(problems) > 0 {
			t.Fatal(problems)
		}
		f.refreshWebsites()
		clock.Step(25 * time.Millisecond)
	}
	writes := f.writes()
	want := []string{"create ConfigMap kubia-website-nginx", "create Deployment kubia-website", "create Service kubia-website-npsvc",
		"create PodDisruptionBudget kubia-website", "status kubia 2"}
	if !slices.Equal(writes, want) {
		t.Errorf("writes until Ready: %q, want %q", writes, want)
	}
	clock.Step(2 * statusDelay)
	for range 3 {
		f.reconcile(testKey)
		f.refreshWebsites()
		clock.Step(2 * statusDelay)
	}
	if got := f.writes()[len(want):]; !slices.Equal(got, []string{"status kubia 3"}) {
		t.Errorf("writes once it has settled: %q", got)
	}
	if got := f.events(); len(got) != 2 {
		t.Errorf("events: %q, want two", got)
	}
}

func TestURLs(t *testing.T) {
	service := func(tweak func(*corev1.Service)) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		tweak(s)
		return s
	}
	on := func(hosts ...string) []observedPod {
		var pods []observedPod
		for _, host := range hosts {
			pod := newObservedPod(host)
			pod.Status.HostIP = host
			pods = append(pods, pod)
		}
		return pods
	}
	nodePort := func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30080 }
	for name, test := range map[string]struct {
		service *corev1.Service
		pods    []observedPod
		want    []string
	}{
		"no service":   {nil, on("192.0.2.1"), nil},
		"cluster only": {service(func(*corev1.Service) {}), on("192.0.2.1"), []string{"http://s.ns.svc"}},
		"node port":    {service(nodePort), on("192.0.2.2", "192.0.2.1", "192.0.2.2"), []string{"http://192.0.2.1:30080", "http://192.0.2.2:30080", "http://s.ns.svc"}},
		"somebody's port comes first": {service(func(s *corev1.Service) {
			s.Spec.Ports = []corev1.ServicePort{{Port: 9090, NodePort: 30090}, {Port: 80, NodePort: 30080}}
		}), on("192.0.2.1"), []string{"http://192.0.2.1:30080", "http://s.ns.svc"}},
		"many nodes": {service(nodePort), on("192.0.2.4", "192.0.2.3", "192.0.2.2", "192.0.2.1"), []string{"http://192.0.2.1:30080", "http://192.0.2.2:30080", "http://192.0.2.3:30080", "http://s.ns.svc"}},
		"IPv6 node":  {service(nodePort), on("2001:db8::1"), []string{"http://[2001:db8::1]:30080", "http://s.ns.svc"}},
		"load balancer": {service(func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "lb.example.com"}, {IP: "2001:db8::2"}}
		}), nil, []string{"http://lb.example.com", "http://[2001:db8::2]", "http://s.ns.svc"}},
	} {
		if got := urlsOf(test.service, test.pods); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestStatusMemoryGoesWithTheWebsite(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.reconcile(testKey)
	f.uncacheWebsite(newWebsite())
	f.reconcile(testKey)
	if len(f.controller.statuses.sites) != 0 {
		t.Error("a Website that is gone is still remembered")
	}
}
