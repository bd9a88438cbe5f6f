package install

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestOriginal takes both ways from the original controller to an installed product, on a real
// node, while visitors request the pages of all sites. Each way is interrupted at every step
// and resumed. No request fails, node ports stay, and each pod is replaced once.
func TestOriginal(t *testing.T) {
	if *originalSites == 0 {
		t.Skip("-original-sites is 0: \"make test-original\" moves 20 sites, which takes minutes")
	}
	framework.RequireCluster(t)
	makeArtifacts(t)
	keepSystem(t)
	provideVolumes(t, 1)
	t.Run("its CustomResourceDefinition is in the cluster", testDefinition)
	t.Run("its Websites are in the API", testTakeover)
}

// websites is the resource of the original API, whichever server serves it.
var websites = v1alpha1.SchemeGroupVersion.WithResource("websites")

// testDefinition imports the Websites of the definition as documented in docs/import.md.
func testDefinition(t *testing.T) {
	config := framework.AdminConfig(t)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	framework.KubectlWith(t, framework.Stdin(framework.OriginalDefinition), "apply", "-f", "-")
	framework.WaitFor(t, "the definition is served", func(ctx context.Context) error {
		_, err := client.Resource(websites).List(ctx, metav1.ListOptions{})
		return err
	})
	m := newMoving(t, func(t *testing.T, website *v1alpha1.Website) metav1.Object {
		t.Helper()
		website.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind("Website"))
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(website)
		if err != nil {
			t.Fatal(err)
		}
		delete(content, "status")
		created, err := client.Resource(websites).Namespace(website.Namespace).Create(t.Context(),
			&unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return created
	})
	before := websiteUIDs(t, client, websites, m.namespace)

	applyDefault(t)
	framework.Kubectl(t, "rollout", "status", "--namespace="+systemNamespace, kubectlTimeout,
		"statefulset/website-apiserver")
	framework.Kubectl(t, "create", "clusterrolebinding", "website-import", "--clusterrole=website-import",
		"--serviceaccount=website-system:website-apiserver")
	plan := framework.Kubectl(t, importArgs("plan")...)
	if !strings.Contains(plan, fmt.Sprintf("has %d Websites, all of which can be imported", len(m.names))) {
		t.Errorf("import plan printed %s", plan)
	}
	for _, step := range []string{"freeze: ", "copy: ", "hand over: ", "detach: ", "remove: ", "finish: "} {
		// The pod with the server is lost in the middle of the step. A new pod has
		// no back-off.
		runImport(t, step, func() { endContainer(t, "") })
		killPods(t, "website-apiserver")
		if step == "finish: " {
			break
		}
		// The command ends after the step.
		runImport(t, step+"done", func() { endContainer(t, "import") })
		m.requireUntouched(t, "after "+step)
	}
	// The connection of kubectl is lost. The command continues in the pod, concurrently with the
	// next one.
	runImport(t, "finish: ", func() {})
	runImport(t, "", nil)
	framework.Kubectl(t, "delete", "clusterrolebinding", "website-import")
	// The OpenAPI documents are not awaited: after a server was killed, kube-apiserver fetches them
	// again after minutes.
	waitListed(t)
	if _, err := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}).
		Get(t.Context(), "websites.mycontroller.nevermosby.io", metav1.GetOptions{}); err == nil {
		t.Error("the definition is still there")
	}
	m.finish(t)
	if after := websiteUIDs(t, client, websites, m.namespace); !maps.Equal(before, after) {
		t.Errorf("the definition had %v, and the API has %v", before, after)
	}
	// There are no visitors any more, and the garbage collector watches the API: it deletes
	// the children.
	framework.Kubectl(t, "delete", "websites", "--all", "--namespace="+m.namespace)
	framework.WaitFor(t, "the children are deleted", func(ctx context.Context) error {
		deployments, err := m.client.AppsV1().Deployments(m.namespace).List(ctx, metav1.ListOptions{})
		if err == nil && len(deployments.Items) > 0 {
			err = fmt.Errorf("there are %d", len(deployments.Items))
		}
		return err
	})
}

func websiteUIDs(t *testing.T, client dynamic.Interface, resource schema.GroupVersionResource,
	namespace string) map[string]types.UID {
	t.Helper()
	list, err := client.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, item := range list.Items {
		uids[item.GetName()] = item.GetUID()
	}
	if len(uids) != *originalSites {
		t.Errorf("there are %d Websites, want %d", len(uids), *originalSites)
	}
	return uids
}

func importArgs(command string) []string {
	return []string{"exec", "--namespace=" + systemNamespace, "website-apiserver-0", "--",
		"/website-apiserver", "import", command, "--data-dir=/var/lib/website-apiserver/etcd", "--propagation-delay=3s"}
}

// runImport runs "import run" in the pod of the server, to its end or until it has printed a
// line with a prefix. Then it is interrupted, and kubectl killed. An import that an earlier
// command has completed is accepted.
func runImport(t *testing.T, until string, interrupt func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), framework.Cluster.KubectlPath(),
		append([]string{"--kubeconfig=" + framework.Cluster.Kubeconfig()}, importArgs("run")...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		t.Logf("import run: %s", lines.Text())
		if interrupt != nil && strings.HasPrefix(lines.Text(), until) {
			interrupt()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Logf("import run was interrupted")
			return
		}
	}
	err = errors.Join(lines.Err(), cmd.Wait())
	switch {
	case err != nil && strings.Contains(stderr.String(), "nothing is to be imported"):
		t.Log("import run: an earlier command has completed the import")
	case err != nil || interrupt != nil:
		t.Fatalf("import run has ended before it printed %q: %v: %s", until, err, stderr.String())
	}
}

// endContainer kills the processes in the container of the server, or only those with
// an argument.
func endContainer(t *testing.T, argument string) {
	t.Helper()
	pod, err := framework.Admin(t).Kubernetes.CoreV1().Pods(systemNamespace).Get(t.Context(), "website-apiserver-0",
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	killed := 0
	for _, pid := range framework.ContainerProcesses(t, id) {
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || argument != "" && !slices.Contains(strings.Split(string(args), "\x00"), argument) {
			continue
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err == nil {
			killed++
		}
	}
	if id == "" || killed == 0 {
		t.Fatalf("no process was killed: %+v", pod.Status.ContainerStatuses)
	}
}

// killPods deletes the pods of a program at once, and waits until their successors run.
func killPods(t *testing.T, name string) {
	t.Helper()
	pods := framework.Admin(t).Kubernetes.CoreV1().Pods(systemNamespace)
	selector := metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name}
	former, err := pods.List(t.Context(), selector)
	if err != nil || len(former.Items) == 0 {
		t.Fatalf("pods of %s: %v, %v", name, former, err)
	}
	killed := map[types.UID]bool{}
	for _, pod := range former.Items {
		killed[pod.UID] = true
		if err := pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
			t.Fatal(err)
		}
	}
	framework.WaitFor(t, "the successors of the pods of "+name+" are ready", func(ctx context.Context) error {
		list, err := pods.List(ctx, selector)
		if err != nil {
			return err
		}
		ready := 0
		for _, pod := range list.Items {
			for _, condition := range pod.Status.Conditions {
				if !killed[pod.UID] && condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		if ready != len(killed) {
			return fmt.Errorf("%d of %d are ready", ready, len(killed))
		}
		return nil
	})
}

// testTakeover creates Websites in the API for children of the original controller. The
// controller is killed when a third and when two thirds of the sites are taken over.
func testTakeover(t *testing.T) {
	framework.Kubectl(t, "scale", "--namespace="+systemNamespace, "deployment/website-controller", "--replicas=0")
	framework.Kubectl(t, "wait", "--namespace="+systemNamespace, kubectlTimeout, "--for=delete", "pods",
		"--selector=app.kubernetes.io/name=website-controller")
	client := framework.Admin(t).Websites.WebsiteV1alpha1()
	m := newMoving(t, func(t *testing.T, website *v1alpha1.Website) metav1.Object {
		t.Helper()
		created, err := client.Websites(website.Namespace).Create(t.Context(), website, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return created
	})
	m.requireUntouched(t, "before the takeover")
	framework.Kubectl(t, "scale", "--namespace="+systemNamespace, "deployment/website-controller", "--replicas=1")
	for _, part := range []int{1, 2} {
		framework.WaitFor(t, fmt.Sprintf("%d thirds of the sites are taken over", part), func(ctx context.Context) error {
			if taken, err := m.taken(ctx); 3*taken < part*len(m.names) {
				return err
			}
			return nil
		})
		killPods(t, "website-controller")
	}
	m.finish(t)
}
