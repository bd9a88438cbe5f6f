package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/app"
	"github.com/kubesites/website-apiserver/test/framework"
)

// backedUp are the kinds of children of a Website without hosts.
var backedUp = []schema.GroupVersionResource{
	corev1.SchemeGroupVersion.WithResource("configmaps"),
	corev1.SchemeGroupVersion.WithResource("services"),
	appsv1.SchemeGroupVersion.WithResource("deployments"),
	policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"),
}

// backup holds a Website and its children, by kind, as a backup tool saves them.
type backup struct {
	website  *v1alpha1.Website
	children map[schema.GroupVersionResource][]unstructured.Unstructured
	pods     []corev1.Pod
}

func dynamicClient(t *testing.T) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(framework.AdminConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// ofSite selects objects by the label of the site.
var ofSite = metav1.ListOptions{LabelSelector: "controller=kubia"}

// loseSite creates a site with two pods, backs it up, and deletes it.
func loseSite(t *testing.T, namespace string) backup {
	t.Helper()
	ctx, client := t.Context(), dynamicClient(t)
	b := backup{
		website:  framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia", framework.V1alpha1Replicas(2))),
		children: map[schema.GroupVersionResource][]unstructured.Unstructured{},
	}
	framework.WaitAvailable(t, b.website, 2)
	framework.WaitSettled(t, namespace, "kubia")
	for _, resource := range backedUp {
		list, err := client.Resource(resource).Namespace(namespace).List(ctx, ofSite)
		if err != nil {
			t.Fatal(err)
		}
		b.children[resource] = list.Items
	}
	b.pods = sitePods(t, namespace)
	framework.Kubectl(t, "delete", "website/kubia", "-n", namespace, "--cascade=foreground")
	framework.WaitFor(t, "the children are gone", framework.ChildrenGone(t, namespace, "kubia-website"))
	framework.WaitFor(t, "the pods are gone", func(context.Context) error {
		if pods := sitePods(t, namespace); len(pods) > 0 {
			return fmt.Errorf("there are %d", len(pods))
		}
		return nil
	})
	return b
}

func sitePods(t *testing.T, namespace string) []corev1.Pod {
	t.Helper()
	pods, err := framework.Admin(t).Kubernetes.CoreV1().Pods(namespace).List(t.Context(), ofSite)
	if err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

// restore creates the children again, as backup tools do: without owner references, status and
// fields that the API server sets. Velero has written the managed fields since 1.11, by a patch.
func (b backup) restore(t *testing.T, withManagedFields bool) {
	t.Helper()
	for resource, objects := range b.children {
		client := dynamicClient(t).Resource(resource).Namespace(b.website.Namespace)
		for _, object := range objects {
			managed := object.GetManagedFields()
			for _, field := range []string{
				"generateName", "uid", "resourceVersion", "generation", "creationTimestamp", "ownerReferences", "managedFields",
			} {
				unstructured.RemoveNestedField(object.Object, "metadata", field)
			}
			for _, path := range [][]string{{"status"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"}} {
				unstructured.RemoveNestedField(object.Object, path...)
			}
			labels := object.GetLabels()
			labels["velero.io/restore-name"] = "lost"
			object.SetLabels(labels)
			if _, err := client.Create(t.Context(), &object, metav1.CreateOptions{FieldManager: "velero-server"}); err != nil {
				t.Fatal(err)
			}
			if !withManagedFields {
				continue
			}
			patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"managedFields": managed}})
			if err != nil {
				t.Fatal(err)
			}
			options := metav1.PatchOptions{FieldManager: "velero-server"}
			if _, err := client.Patch(t.Context(), object.GetName(), types.MergePatchType, patch, options); err != nil {
				t.Fatal(err)
			}
		}
	}
	website := framework.NewV1alpha1(b.website.Namespace, b.website.Name, framework.V1alpha1Replicas(2))
	framework.MustCreate(t, website)
}

// restoredSite has the properties that adoption must keep.
type restoredSite struct {
	children  map[string]types.UID
	pods      []types.UID
	clusterIP string
	nodePort  int32
}

// observeRestored waits for the pods of the restored Deployment.
func observeRestored(t *testing.T, namespace string) restoredSite {
	t.Helper()
	ctx, client := t.Context(), framework.Admin(t).Kubernetes
	framework.WaitFor(t, "the restored Deployment has its pods", func(ctx context.Context) error {
		deployment, err := client.AppsV1().Deployments(namespace).Get(ctx, "kubia-website", metav1.GetOptions{})
		if err == nil && !rolledOut(deployment) {
			err = fmt.Errorf("its status is %+v", deployment.Status)
		}
		return err
	})
	service, err := client.CoreV1().Services(namespace).Get(ctx, "kubia-website-npsvc", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	site := restoredSite{
		children: map[string]types.UID{}, clusterIP: service.Spec.ClusterIP, nodePort: service.Spec.Ports[0].NodePort,
	}
	for _, resource := range append(slices.Clone(backedUp), appsv1.SchemeGroupVersion.WithResource("replicasets")) {
		list, err := dynamicClient(t).Resource(resource).Namespace(namespace).List(ctx, ofSite)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			site.children[resource.Resource+"/"+object.GetName()] = object.GetUID()
		}
	}
	for _, pod := range sitePods(t, namespace) {
		site.pods = append(site.pods, pod.UID)
	}
	slices.Sort(site.pods)
	return site
}

// requireSame fails the test unless a site has the same properties as after the restore.
func (s restoredSite) requireSame(t *testing.T, b backup) {
	t.Helper()
	now := observeRestored(t, b.website.Namespace)
	if !maps.Equal(now.children, s.children) || !slices.Equal(now.pods, s.pods) {
		t.Errorf("children %v and pods %v, want those that were restored: %v, %v", now.children, now.pods, s.children, s.pods)
	}
	if now.clusterIP != s.clusterIP || now.nodePort != s.nodePort || now.nodePort != b.nodePort(t) {
		t.Errorf("cluster IP %s, node port %d, want %s, %d", now.clusterIP, now.nodePort, s.clusterIP, b.nodePort(t))
	}
}

// nodePort returns the node port of the Service in the backup.
func (b backup) nodePort(t *testing.T) int32 {
	t.Helper()
	service := b.children[corev1.SchemeGroupVersion.WithResource("services")][0]
	ports, _, err := unstructured.NestedSlice(service.Object, "spec", "ports")
	if err != nil || len(ports) != 1 {
		t.Fatalf("ports %v, %v", ports, err)
	}
	port, _, err := unstructured.NestedInt64(ports[0].(map[string]any), "nodePort")
	if err != nil {
		t.Fatal(err)
	}
	return int32(port)
}

// adopt runs the command as the administrator.
func adopt(t *testing.T, args ...string) string {
	t.Helper()
	cmd, err := app.NewCommand()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.SetOut(&out)
	kubeconfig := framework.WriteKubeconfig(t, framework.AdminConfig(t))
	cmd.SetArgs(append([]string{"adopt", "--kubeconfig=" + kubeconfig}, args...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("adopt %v: %v\n%s", args, err, &out)
	}
	return out.String()
}

// TestAdoptRestored restores a site without managed fields: the controller names all objects that
// it must not take, and reconciles them unchanged once the command has adopted them.
func TestAdoptRestored(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	b := loseSite(t, namespace)
	b.restore(t, false)
	restored := observeRestored(t, namespace)
	taken := framework.WaitCondition(t, namespace, "kubia", v1beta1.WebsiteReady, metav1.ConditionFalse,
		v1beta1.WebsiteReasonNameTaken)
	for _, want := range []string{
		`Deployment "kubia-website", `, `ConfigMap "kubia-website-nginx-`,
		`Service "kubia-website-npsvc"`, `PodDisruptionBudget "kubia-website"`, "website-controller adopt",
	} {
		if !strings.Contains(taken.Message, want) {
			t.Errorf("message = %q, want %q in it", taken.Message, want)
		}
	}
	if plan := adopt(t, "plan", "-n", namespace); !strings.HasSuffix(plan, "4 to adopt, 0 refused\n") {
		t.Errorf("the plan is\n%s, want 4 children", plan)
	}
	if result := adopt(t, "run", "-n", namespace, "kubia"); !strings.HasSuffix(result, "4 adopted, 0 refused\n") {
		t.Errorf("the command printed\n%s, want that 4 children were adopted", result)
	}
	framework.WaitReady(t, namespace, "kubia")
	framework.WaitSettled(t, namespace, "kubia")
	restored.requireSame(t, b)
	if plan := adopt(t, "plan", "-n", namespace); plan != "0 to adopt, 0 refused\n" {
		t.Errorf("the plan is\n%s, want that nothing is left to adopt", plan)
	}
	// The controller manages the adopted fields: a change of the Website takes effect.
	framework.Kubectl(t, "scale", "website/kubia", "-n", namespace, "--replicas=3")
	framework.WaitAvailable(t, b.website, 3)
}

// TestRestoredWithManagedFields restores a site as current versions of Velero do: the controller
// adopts it by itself.
func TestRestoredWithManagedFields(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	b := loseSite(t, namespace)
	b.restore(t, true)
	framework.WaitReady(t, namespace, "kubia")
	restored := observeRestored(t, namespace)
	framework.WaitSettled(t, namespace, "kubia")
	restored.requireSame(t, b)
	if plan := adopt(t, "plan", "-n", namespace); plan != "0 to adopt, 0 refused\n" {
		t.Errorf("the plan is\n%s, want that nothing is left to adopt", plan)
	}
}

// TestPodsAreNotRestored: kube-apiserver merges matchLabelKeys into the selector of a pod that it
// creates, and rejects a pod with both. So pods cannot be restored from a backup, and the
// Deployment creates them.
func TestPodsAreNotRestored(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	pod := loseSite(t, namespace).pods[0]
	pod.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: pod.Name, Labels: pod.Labels}
	pod.Spec.NodeName, pod.Status = "", corev1.PodStatus{}
	_, err := framework.Admin(t).Kubernetes.CoreV1().Pods(namespace).Create(t.Context(), &pod, metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "matchLabelKeys") {
		t.Errorf("error %v, want that matchLabelKeys is rejected: else docs/backup.md need not exclude pods", err)
	}
}
