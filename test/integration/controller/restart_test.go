package controller

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/app"
	"github.com/kubesites/website-apiserver/test/framework"
)

var settledWebsites = flag.Int("settled-websites", 30,
	"number of settled Websites over which the controller is restarted")

var commit = strings.Repeat("a", 40)

// stopController stops the controller of the cluster until the test ends.
func stopController(t *testing.T) *devcluster.Process {
	t.Helper()
	controller := framework.Cluster.Process("website-controller")
	if err := controller.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if controller.Running() {
			return
		}
		if err := errors.Join(controller.Start(context.Background()),
			controller.WaitReady(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return controller
}

// startProbing starts a controller in the process of the tests, as the ServiceAccount of the
// controller, that probes pods. answers responds in place of the pods.
func startProbing(t *testing.T, answers framework.PodAnswers, flags ...string) (*framework.Controller,
	*framework.Reconciles) {
	t.Helper()
	reconciles := framework.NewReconciles()
	return framework.StartController(t, app.Instruments{
		WrapTransport:  answers.Wrap(framework.Admin(t).Kubernetes),
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(reconciles)),
	}, slices.Concat(controllerFlags(t), []string{"--commit-observation=PodProxy"}, flags)...), reconciles
}

// controllerFlags return the flags by which a controller in the process of the tests acts as
// its ServiceAccount.
func controllerFlags(t *testing.T) []string {
	t.Helper()
	config, err := framework.Cluster.UserConfig(framework.ControllerUser, "system:serviceaccounts",
		"system:serviceaccounts:website-system")
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--kubeconfig=" + framework.WriteKubeconfig(t, config), "--secure-port=0"}
}

// probed records the pods that have answered.
type probed struct {
	mu   sync.Mutex
	pods sets.Set[string]
}

func (p *probed) answer(pod *corev1.Pod) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pods.Insert(pod.Namespace + "/" + pod.Name)
	return framework.Serving(commit)
}

func (p *probed) of(namespace string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for name := range p.pods {
		if strings.HasPrefix(name, namespace+"/") {
			n++
		}
	}
	return n
}

// TestRestartedControllerWritesNothing restarts a controller with many Websites, two thirds of them
// with pods to probe: only its lease may be written.
func TestRestartedControllerWritesNothing(t *testing.T) {
	stopController(t)
	namespace, others := "crowd", framework.NewNamespace(t)
	first, _ := startProbing(t, (&probed{pods: sets.New[string]()}).answer)
	pods := createCrowd(t, namespace, *settledWebsites)
	waitServed(t, others, "before")
	first.Drain(t)

	kubeAudit, websiteAudit := framework.AuditLength(t, "kube-apiserver"), framework.AuditLength(t, "website-apiserver")
	restarted, seen := time.Now(), &probed{pods: sets.New[string]()}
	second, reconciles := startProbing(t, seen.answer)
	for i := range *settledWebsites {
		if err := reconciles.Await(t.Context(), namespace+"/"+crowdName(i), 1); err != nil {
			t.Fatal(err)
		}
	}
	framework.WaitFor(t, "every pod has answered a probe", func(context.Context) error {
		if n := seen.of(namespace); n < pods {
			return fmt.Errorf("%d of %d have", n, pods)
		}
		return nil
	})
	t.Logf("%d Websites reconciled and %d pods probed %s after the restart", *settledWebsites, pods,
		time.Since(restarted).Round(time.Millisecond))
	// A status that is not urgent is written with a delay, which is over once a Website created now is
	// served, and after it another one.
	waitServed(t, others, "last")
	waitServed(t, others, "very-last")
	second.Drain(t)

	for _, ref := range controllerWrites(t, kubeAudit, websiteAudit) {
		lease := ref.Resource == "leases" && ref.Namespace == "website-system" && ref.Name == "website-controller"
		// Namespaces of former tests may still lose their ConfigMaps.
		if !lease && slices.Contains([]string{namespace, "website-system", ""}, ref.Namespace) {
			t.Errorf("%s %s/%s %s was written after a restart, want no writes", ref.Resource, ref.Namespace, ref.Name,
				ref.Subresource)
		}
	}
}

// TestRestartKeepsTheLastFailure restarts a controller with a Website whose directory is missing:
// the Website is not Synced before its pod has been probed again.
func TestRestartKeepsTheLastFailure(t *testing.T) {
	stopController(t)
	namespace := framework.NewNamespace(t)
	answers := func(pod *corev1.Pod) map[string]string {
		if pod.Labels["controller"] != "site" {
			return framework.Serving(commit)
		}
		return map[string]string{
			"status": fmt.Sprintf(`{"commit": %q, "pathFound": false, "lastContact": "2026-01-01T00:00:00Z"}`, commit),
		}
	}
	first, _ := startProbing(t, answers)
	website := framework.MustCreate(
		t, framework.NewWebsite(namespace, "site", func(w *v1beta1.Website) { w.Spec.Source.Path = "public" }),
	)
	framework.WaitCondition(t, namespace, "site", v1beta1.WebsiteSynced, metav1.ConditionFalse,
		v1beta1.WebsiteReasonPathNotFound)
	first.Drain(t)

	websites := framework.Websites(t, namespace)
	watcher, err := websites.Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: framework.MustGet(t, website).ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Stop)
	startProbing(t, answers)
	// Once the pod of a newer site has been probed, the pod of this one has been as well.
	waitServed(t, namespace, "newer")
	patch := []byte(`{"metadata":{"labels":{"restarted":"true"}}}`)
	if _, err := websites.Patch(t.Context(), "site", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	timeout := time.After(framework.WaitTimeout)
	for {
		select {
		case event := <-watcher.ResultChan():
			current, ok := event.Object.(*v1beta1.Website)
			if !ok {
				t.Fatalf("%s of %+v", event.Type, event.Object)
			}
			if current.Name != "site" {
				continue
			}
			if meta.IsStatusConditionTrue(current.Status.Conditions, v1beta1.WebsiteSynced) {
				t.Errorf("Synced although the directory is missing: %+v", current.Status.Conditions)
			}
			if current.Labels["restarted"] != "" {
				return
			}
		case <-timeout:
			t.Fatal("the watch does not come to its end")
		}
	}
}

// waitServed creates a Website and waits until its status has the commit of its pod.
func waitServed(t *testing.T, namespace, name string) {
	t.Helper()
	website := framework.MustCreate(t, framework.NewWebsite(namespace, name))
	framework.WaitFor(t, fmt.Sprintf("Website %s is served", name), func(context.Context) error {
		return served(framework.MustGet(t, website))
	})
}

// served returns an error until the status of a Website is final.
func served(w *v1beta1.Website) error {
	want := ""
	if *w.Spec.Replicas > 0 {
		want = commit
	}
	if w.Status.ObservedGeneration != w.Generation || w.Status.AvailableReplicas != *w.Spec.Replicas ||
		w.Status.UpdatedReplicas != *w.Spec.Replicas || w.Status.Commit != want ||
		meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteProgressing) ||
		*w.Spec.Replicas > 0 && !meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteSynced) {
		return fmt.Errorf("Website %s with %d replicas: status = %+v", w.Name, *w.Spec.Replicas, w.Status)
	}
	return nil
}

func crowdName(i int) string { return fmt.Sprintf("w%d", i) }

// createCrowd creates n Websites with 0, 1 or 2 replicas, waits until they are served and returns
// the number of their pods. Their namespace is removed with the cluster: deleting them would slow
// down other tests.
func createCrowd(t *testing.T, namespace string, n int) (pods int) {
	t.Helper()
	ctx, client := t.Context(), framework.Admin(t)
	if _, err := client.Kubernetes.CoreV1().Namespaces().Create(ctx, framework.NamespaceCalled(namespace),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	started, websites := time.Now(), client.Websites.WebsiteV1beta1().Websites(namespace)
	const creators = 8
	var pool sync.WaitGroup
	for c := range creators {
		pool.Go(func() {
			for i := c; i < n; i += creators {
				w := framework.NewWebsite(namespace, crowdName(i), framework.WithReplicas(int32(i%3)))
				if _, err := websites.Create(ctx, w, metav1.CreateOptions{}); err != nil {
					t.Errorf("creating Website %d: %v", i, err)
					return
				}
			}
		})
	}
	pool.Wait()
	if t.Failed() {
		t.FailNow()
	}
	// The waits are bounded for any number of Websites.
	for limit := n - n%100; limit >= 0; limit -= 100 {
		framework.WaitFor(t, fmt.Sprintf("all but %d Websites are served", limit), func(ctx context.Context) error {
			list, err := websites.List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			var open []error
			pods = 0
			for _, w := range list.Items {
				pods += int(*w.Spec.Replicas)
				if err := served(&w); err != nil {
					open = append(open, err)
				}
			}
			if len(open) > limit {
				return fmt.Errorf("%d of %d are not: %w", len(open), len(list.Items), open[0])
			}
			return nil
		})
	}
	t.Logf("%d Websites with %d pods served after %s", n, pods, time.Since(started).Round(time.Millisecond))
	return pods
}
