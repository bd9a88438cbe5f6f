package store

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/framework"
)

const definitionName = "websites.mycontroller.nevermosby.io"

var (
	definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	originalResource = schema.GroupVersionResource{Group: "mycontroller.nevermosby.io", Version: "v1alpha1",
		Resource: "websites"}
)

// original is a cluster with the CustomResourceDefinition of the original controller, and a
// website-apiserver with an empty store that could serve its Websites.
type original struct {
	*environment
	dynamic dynamic.Interface
	server  *devcluster.Process
}

func newOriginal(t *testing.T) *original {
	t.Helper()
	ctx := t.Context()
	e := newEnvironment(t, devcluster.Options{WithoutController: true})
	mustStop(t, e.Process("website-apiserver"))
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		if err := e.apiServices.ApiregistrationV1().APIServices().Delete(ctx, version+".mycontroller.nevermosby.io",
			metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.kube.CoreV1().ConfigMaps("website-system").Delete(ctx, "website-store",
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(e.WebsiteDataDir()); err != nil {
		t.Fatal(err)
	}
	// v1alpha1 is deprecated, and each response has a warning.
	config := rest.CopyConfig(e.config)
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	o := &original{environment: e, dynamic: client}
	file := t.TempDir() + "/definition.yaml"
	framework.WriteFile(t, file, []byte(framework.OriginalDefinition))
	if out, stderr, err := e.Kubectl(ctx, "apply", "-f", file); err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr)
	}
	framework.WaitFor(t, "the definition is served", func(ctx context.Context) error {
		_, err := client.Resource(originalResource).List(ctx, metav1.ListOptions{})
		return err
	})
	for i := range 5 {
		o.publish(t, i)
	}
	o.start(t)
	return o
}

// start starts website-apiserver as artifacts/default does, with the permissions of its
// ServiceAccount and of the import.
func (o *original) start(t *testing.T) {
	t.Helper()
	address, err := url.Parse(o.WebsiteAPIServerURL())
	if err != nil {
		t.Fatal(err)
	}
	o.server, _, err = o.StartAPIServer(t.Context(), "apiserver-import", "--secure-port="+address.Port(),
		"--tls-cert-file=", "--tls-private-key-file=",
		"--service=website-system/website-apiserver:"+address.Port())
	if err != nil {
		t.Fatal(err)
	}
	_, err = o.kube.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "website-import"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "website-import"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "website-system",
			Name: "website-apiserver"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// newOriginalWebsite returns a Website as users of the original controller write it.
func newOriginalWebsite(name, repository string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "mycontroller.nevermosby.io/v1alpha1",
		"kind":       "Website",
		"metadata":   map[string]any{"name": name, "namespace": namespace, "labels": map[string]any{"team": "a"}},
		"spec":       map[string]any{"gitRepo": repository, "deploymentName": name, "replicas": int64(1)},
	}}
}

// publish creates a Website, and its children as the original controller does.
func (o *original) publish(t *testing.T, i int) {
	t.Helper()
	ctx, name := t.Context(), websiteName(i)
	created, err := o.dynamic.Resource(originalResource).Namespace(namespace).Create(ctx,
		newOriginalWebsite(name, "https://example.com/"+name+".git"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "website-nginx", "controller": name}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(created, originalResource.GroupVersion().WithKind("Website")),
		}}
	}
	deployment := &appsv1.Deployment{ObjectMeta: meta(name), Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](1),
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx"},
				{Name: "git-sync", Image: "git-sync"}}},
		},
	}}
	if _, err := o.kube.AppsV1().Deployments(namespace).Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: meta(name + "-npsvc"), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeNodePort, Selector: labels, Ports: []corev1.ServicePort{{Port: 80}},
	}}
	if _, err := o.kube.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the pod of "+name+" runs", func(ctx context.Context) error {
		deployment, err := o.kube.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && deployment.Status.ReadyReplicas != 1 {
			err = fmt.Errorf("%d replicas are ready", deployment.Status.ReadyReplicas)
		}
		return err
	})
}

// leaveBehind creates a Deployment without pods, as the original controller keeps one after a
// change of deploymentName, until the test ends.
func (o *original) leaveBehind(t *testing.T, i int) {
	t.Helper()
	client := o.kube.AppsV1().Deployments(namespace)
	former, err := client.Get(t.Context(), websiteName(i), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	former.ObjectMeta = metav1.ObjectMeta{Name: "former", OwnerReferences: former.OwnerReferences}
	former.Spec.Replicas = ptr.To[int32](0)
	if _, err := client.Create(t.Context(), former, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Delete(context.WithoutCancel(t.Context()), "former", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// delete deletes a Website, and waits until the garbage collector has deleted its children.
func (o *original) delete(t *testing.T, i int) {
	t.Helper()
	if err := o.dynamic.Resource(originalResource).Namespace(namespace).Delete(t.Context(), websiteName(i),
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the children of "+websiteName(i)+" are deleted", func(ctx context.Context) error {
		children, err := o.children(ctx)
		if err == nil && slices.ContainsFunc(slices.Collect(maps.Values(children)),
			func(c child) bool { return c.website == websiteName(i) }) {
			err = fmt.Errorf("%d children are left", len(children))
		}
		return err
	})
}

// deleteWithChildren deletes a Website, and its children as well: the garbage collector may watch
// another API server for some minutes.
func (o *original) deleteWithChildren(t *testing.T, i int) {
	t.Helper()
	ctx, name := t.Context(), websiteName(i)
	for what, err := range map[string]error{
		"Website": o.dynamic.Resource(originalResource).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{}),
		"Service": o.kube.CoreV1().Services(namespace).Delete(ctx, name+"-npsvc", metav1.DeleteOptions{}),
		"Deployment": o.kube.AppsV1().Deployments(namespace).Delete(ctx, name,
			metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}),
	} {
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatalf("deleting the %s %s: %v", what, name, err)
		}
	}
	framework.WaitFor(t, "the pods of "+name+" are gone", func(ctx context.Context) error {
		pods, err := o.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "controller=" + name})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("there are %d", len(pods.Items))
		}
		return err
	})
}

// uids returns the UIDs of the Websites of a version, by name.
func (o *original) uids(t *testing.T, version string) map[string]types.UID {
	t.Helper()
	resource := originalResource
	resource.Version = version
	list, err := o.dynamic.Resource(resource).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, item := range list.Items {
		uids[item.GetName()] = item.GetUID()
	}
	return uids
}

// running returns the UIDs of the pods, and the node ports.
func (o *original) running(t *testing.T) map[string]string {
	t.Helper()
	running := map[string]string{}
	pods, err := o.kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=website-nginx"})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		running[pod.Name] = string(pod.UID)
	}
	services, err := o.kube.CoreV1().Services(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range services.Items {
		running[service.Name] = fmt.Sprint(service.Spec.Ports[0].NodePort)
	}
	return running
}

// definitionGone reports whether the definition was removed.
func (o *original) definitionGone(ctx context.Context) bool {
	_, err := o.dynamic.Resource(definitionResource).Get(ctx, definitionName, metav1.GetOptions{})
	return apierrors.IsNotFound(err)
}
