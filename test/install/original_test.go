package install

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
	"github.com/kubesites/website-apiserver/test/framework"
)

var originalSites = flag.Int("original-sites", 0,
	"how many sites of the original controller TestOriginal moves; 0 skips it")

// moving are sites of the original controller that are moved to website-controller while
// visitors request their pages.
type moving struct {
	client    kubernetes.Interface
	namespace string
	names     []string
	// kept are the UIDs and node ports that must not change, by object.
	kept     map[string]string
	pods     *podHistory
	visitors *visitors
	start    time.Time
}

// newMoving creates sites in a namespace, and starts visitors. create creates a Website
// of v1alpha1.
func newMoving(t *testing.T, create func(t *testing.T, website *v1alpha1.Website) metav1.Object) *moving {
	t.Helper()
	m := &moving{client: framework.Admin(t).Kubernetes, namespace: framework.NewNamespace(t)}
	for i := range *originalSites {
		name := fmt.Sprintf("site-%02d", i)
		repository, commit := push(t, m.namespace+"-"+name)
		website := create(
			t, framework.NewV1alpha1(m.namespace, name, func(w *v1alpha1.Website) { w.Spec.GitRepo = repository }),
		)
		framework.OriginalSite{Website: website, Deployment: name + "-website", Replicas: 1, Repository: repository,
			Commit: commit}.Create(t)
		m.names = append(m.names, name)
	}
	pages := map[string]string{}
	for _, name := range m.names {
		framework.WaitFor(t, "the page of "+name+" is served", func(ctx context.Context) error {
			url, err := framework.Cluster.NodePortURL(ctx, m.namespace, name+"-website-npsvc")
			if err != nil {
				return err
			}
			body, err := get(ctx, url)
			if err == nil && body != page(m.namespace+"-"+name) {
				err = fmt.Errorf("%s serves %q", url, body)
			}
			pages[m.namespace+"-"+name] = url
			return err
		})
	}
	m.kept = m.observe(t)
	keepTimeline(t, m.client, m.namespace)
	m.pods = watchPods(t, m.client, m.namespace)
	m.visitors = startVisitors(t, pages)
	m.start = time.Now()
	return m
}

// observe returns the properties that a move must keep: the UIDs of Deployments and Services,
// addresses and node ports.
func (m *moving) observe(t *testing.T) map[string]string {
	t.Helper()
	kept := map[string]string{}
	deployments, err := m.client.AppsV1().Deployments(m.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, deployment := range deployments.Items {
		kept["Deployment "+deployment.Name] = string(deployment.UID)
	}
	services, err := m.client.CoreV1().Services(m.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range services.Items {
		kept["Service "+service.Name] = fmt.Sprintf("%s at %s and port %d of each node", service.UID, service.Spec.ClusterIP,
			service.Spec.Ports[0].NodePort)
	}
	if len(kept) != 2*len(m.names) {
		t.Fatalf("%d sites have %v", len(m.names), kept)
	}
	return kept
}

// taken returns the number of sites with pods of website-controller only, and the reasons for
// the others.
func (m *moving) taken(ctx context.Context) (count int, err error) {
	deployments, err := m.client.AppsV1().Deployments(m.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		if d.Labels["app.kubernetes.io/managed-by"] != "website-controller" ||
			len(d.Spec.Template.Spec.InitContainers) == 0 ||
			d.Spec.MinReadySeconds != 0 || !workload.AvailabilityOf(cached.OfDeployment(d)).RolledOut {
			err = fmt.Errorf("Deployment %s: minReadySeconds %d, status %+v", d.Name, d.Spec.MinReadySeconds, d.Status)
			continue
		}
		count++
	}
	if err != nil {
		err = fmt.Errorf("%d of %d sites are taken over: %w", count, len(m.names), err)
	}
	return count, err
}

// finish waits until website-controller has taken over every site, and checks the kept
// properties, the responses to visitors, and the replaced pods.
func (m *moving) finish(t *testing.T) {
	t.Helper()
	framework.WaitWithin(t, 10*time.Minute, "every site is taken over", func(ctx context.Context) error {
		_, err := m.taken(ctx)
		return err
	})
	for _, name := range m.names {
		framework.WaitReady(t, m.namespace, name)
	}
	framework.WaitFor(t, "the pods of the original controller are gone", func(ctx context.Context) error {
		pods, err := m.client.CoreV1().Pods(m.namespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(pods.Items) != len(m.names) {
			err = fmt.Errorf("there are %d pods", len(pods.Items))
		}
		return err
	})
	t.Logf("%d sites were moved within %s", len(m.names), time.Since(m.start).Round(time.Second))
	m.visitors.finish(t)
	if after := m.observe(t); !maps.Equal(m.kept, after) {
		t.Errorf("there were %v, and there are %v", m.kept, after)
	}
	before, created, restarts := m.pods.finish()
	t.Logf("%d pods at the beginning, %d were created, containers restarted %d times", before, created, restarts)
	if before != len(m.names) || created != len(m.names) || restarts != 0 {
		t.Error("each pod must be replaced once, as its template changes, and none restarted")
	}
}

// podHistory records the pods of a namespace.
type podHistory struct {
	stop func()
	// before are the pods at the beginning, after all since; restarts are restarts of containers.
	before, after map[types.UID]bool
	restarts      map[string]int32
}

// watchPods follows the pods of a namespace until finish.
func watchPods(t *testing.T, client kubernetes.Interface, namespace string) *podHistory {
	t.Helper()
	h := &podHistory{before: map[types.UID]bool{}, after: map[types.UID]bool{}, restarts: map[string]int32{}}
	list, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		h.before[pod.UID] = true
	}
	watcher, err := client.CoreV1().Pods(namespace).Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok && ctx.Err() != nil {
				return
			}
			if !ok {
				t.Errorf("following the pods of %s: %v", namespace, event.Object)
				return
			}
			if !h.before[pod.UID] {
				h.after[pod.UID] = true
			}
			for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
				h.restarts[string(pod.UID)+status.Name] = status.RestartCount
			}
		}
		if ctx.Err() == nil {
			t.Errorf("the watch of the pods of %s has ended", namespace)
		}
	}()
	h.stop = func() {
		cancel()
		watcher.Stop()
		<-done
	}
	t.Cleanup(h.stop)
	return h
}

func (h *podHistory) finish() (before, created, restarts int) {
	h.stop()
	for _, n := range h.restarts {
		restarts += int(n)
	}
	return len(h.before), len(h.after), restarts
}

// requireUntouched fails the test if a pod was replaced, or one of its containers restarted.
func (m *moving) requireUntouched(t *testing.T, when string) {
	t.Helper()
	list, err := m.client.CoreV1().Pods(m.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != len(m.names) {
		t.Errorf("%s: %d sites have %d pods", when, len(m.names), len(list.Items))
	}
	for _, pod := range list.Items {
		restarts := 0
		for _, status := range pod.Status.ContainerStatuses {
			restarts += int(status.RestartCount)
		}
		if !m.pods.before[pod.UID] || restarts > 0 {
			t.Errorf("%s: pod %s is a new one, or has restarted %d times", when, pod.Name, restarts)
		}
	}
}
