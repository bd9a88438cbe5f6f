package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/app"
	"github.com/kubesites/website-apiserver/test/framework"
)

const (
	formerNginx, currentNginx = "example.com/nginx:former", "example.com/nginx:current"
	labelPool                 = "example.com/pool"
)

// startIn starts a controller in the process of the tests, as the ServiceAccount of the
// controller, for the Websites of a namespace.
func startIn(t *testing.T, namespace string, flags ...string) *framework.Controller {
	t.Helper()
	config, err := framework.Cluster.UserConfig(framework.ControllerUser, "system:serviceaccounts",
		"system:serviceaccounts:website-system")
	if err != nil {
		t.Fatal(err)
	}
	return framework.StartController(t, app.Instruments{}, append([]string{
		"--kubeconfig=" + framework.WriteKubeconfig(t, config), "--secure-port=0", "--leader-elect=false",
		"--commit-observation=None", "--watch-namespace=" + namespace,
	}, flags...)...)
}

// pool holds the nodes for the pods of Websites, which can be withdrawn and given back. Without
// nodes, no pod can start.
type pool struct {
	*testing.T
	node, value string
}

func newPool(t *testing.T, namespace string) *pool {
	t.Helper()
	nodes, err := framework.Admin(t).Kubernetes.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) == 0 {
		t.Fatalf("there are %d nodes: %v", len(nodes.Items), err)
	}
	p := &pool{T: t, node: nodes.Items[0].Name, value: namespace}
	t.Cleanup(func() { p.label(context.Background(), "null") })
	p.open()
	return p
}

func (p *pool) label(ctx context.Context, value string) {
	p.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, labelPool, value)
	if _, err := framework.Admin(p.T).Kubernetes.CoreV1().Nodes().Patch(ctx, p.node, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}); err != nil {
		p.Error(err)
	}
}

func (p *pool) open()  { p.Helper(); p.label(p.Context(), fmt.Sprintf("%q", p.value)) }
func (p *pool) close() { p.Helper(); p.label(p.Context(), "null") }

// use is a tweak of NewWebsite.
func (p *pool) use(w *v1beta1.Website) {
	w.Spec.Scheduling.NodeSelector = map[string]string{labelPool: p.value}
}

// deployments records all states of the Deployments of a namespace.
type deployments struct {
	mu      sync.Mutex
	states  []*appsv1.Deployment
	current map[string]*appsv1.Deployment
}

func watchDeployments(t *testing.T, namespace string) *deployments {
	t.Helper()
	client := framework.Admin(t).Kubernetes.AppsV1().Deployments(namespace)
	list, err := client.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Stop)
	d := &deployments{current: map[string]*appsv1.Deployment{}}
	for i := range list.Items {
		d.current[list.Items[i].Name] = &list.Items[i]
	}
	go func() {
		for event := range watcher.ResultChan() {
			if deployment, ok := event.Object.(*appsv1.Deployment); ok && event.Type != watch.Deleted {
				d.mu.Lock()
				d.states, d.current[deployment.Name] = append(d.states, deployment), deployment
				d.mu.Unlock()
			}
		}
	}()
	return d
}

// with returns the names of the Deployments with an image of nginx.
func (d *deployments) with(image string) sets.Set[string] {
	d.mu.Lock()
	defer d.mu.Unlock()
	names := sets.New[string]()
	for name, deployment := range d.current {
		if nginxImage(deployment) == image {
			names.Insert(name)
		}
	}
	return names
}

// waitUpdated waits until exactly these Deployments have the current image of nginx.
func (d *deployments) waitUpdated(t *testing.T, want ...string) {
	t.Helper()
	framework.WaitFor(t, fmt.Sprintf("Deployments %v have %s", want, currentNginx), func(context.Context) error {
		if got := d.with(currentNginx); !got.Equal(sets.New(want...)) {
			return fmt.Errorf("these have: %v", sets.List(got))
		}
		return nil
	})
}

// mostRolling returns the largest number of Deployments that rolled out an image at once.
func (d *deployments) mostRolling(image string, except ...string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	most, rolling := 0, sets.New[string]()
	for _, deployment := range d.states {
		if nginxImage(deployment) == image && !rolledOut(deployment) {
			rolling.Insert(deployment.Name)
		} else {
			rolling.Delete(deployment.Name)
		}
		most = max(most, rolling.Difference(sets.New(except...)).Len())
	}
	return most
}

func nginxImage(deployment *appsv1.Deployment) string {
	return deployment.Spec.Template.Spec.Containers[0].Image
}

func rolledOut(deployment *appsv1.Deployment) bool {
	n, status := *deployment.Spec.Replicas, &deployment.Status
	return status.ObservedGeneration >= deployment.Generation && status.Replicas == n && status.UpdatedReplicas == n &&
		status.AvailableReplicas == n
}

// TestRolloutsAreLimited restarts the controller with another image over Websites with a final
// status. It is not parallel: it stops the controller.
func TestRolloutsAreLimited(t *testing.T) {
	stopController(t)
	namespace := framework.NewNamespace(t)
	nodes := newPool(t, namespace)
	former := startIn(t, namespace, "--nginx-image="+formerNginx)
	names := []string{"w0", "w1", "w2", "w3", "w4", "w5"}
	for _, name := range names {
		framework.MustCreate(t, framework.NewWebsite(namespace, name, nodes.use))
	}
	for _, name := range names {
		framework.WaitSettled(t, namespace, name)
	}
	former.Drain(t)

	nodes.close()
	recorded := watchDeployments(t, namespace)
	limited := func() *framework.Controller {
		return startIn(t, namespace, "--nginx-image="+currentNginx, "--max-concurrent-rollouts=2")
	}
	current := limited()
	recorded.waitUpdated(t, "w0", "w1")
	for _, name := range names[2:] {
		framework.WaitCondition(t, namespace, name, v1beta1.WebsiteProgressing, metav1.ConditionFalse,
			v1beta1.WebsiteReasonRolloutPending)
	}
	if wide := framework.Kubectl(t, "get", "websites", "-n", namespace, "-o", "wide"); strings.Count(wide,
		v1beta1.WebsiteReasonRolloutPending) != 4 {
		t.Errorf("kubectl get -o wide printed\n%s\nwant 4 pending rollouts", wide)
	}

	// Changes of users are not delayed, and do not end the wait of other Websites.
	framework.Kubectl(t, "patch", "website", "w5", "-n", namespace, "--type=merge", "-p",
		`{"spec":{"serving":{"fallback":"SPA"}}}`)
	recorded.waitUpdated(t, "w0", "w1", "w5")
	framework.Kubectl(t, "scale", "website", "w4", "-n", namespace, "--replicas=2")
	framework.WaitFor(t, "Deployment w4 has two replicas, and the status says so", func(ctx context.Context) error {
		deployment, err := framework.Admin(t).Kubernetes.AppsV1().Deployments(namespace).Get(ctx, "w4", metav1.GetOptions{})
		if err != nil {
			return err
		}
		w, err := framework.Websites(t, namespace).Get(ctx, "w4", metav1.GetOptions{})
		if err == nil && (*deployment.Spec.Replicas != 2 || w.Status.ObservedGeneration != w.Generation) {
			err = errors.New("not yet")
		}
		return err
	})
	recorded.waitUpdated(t, "w0", "w1", "w5")

	// The next leader derives the rollouts in progress from the cluster.
	current.Drain(t)
	limited()
	nodes.open()
	recorded.waitUpdated(t, names...)
	for _, name := range names {
		framework.WaitSettled(t, namespace, name)
	}
	if most := recorded.mostRolling(currentNginx, "w5"); most != 2 {
		t.Errorf("%d Deployments were rolling out at once, want 2", most)
	}
}
