package framework

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// NewNamespace creates a namespace, changed by tweaks, and deletes it with all its objects when the
// test ends.
func NewNamespace(t *testing.T, tweaks ...func(*corev1.Namespace)) string {
	t.Helper()
	namespaces := Admin(t).Kubernetes.CoreV1().Namespaces()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-",
		Annotations: map[string]string{testAnnotation: t.Name()}}}
	for _, tweak := range tweaks {
		tweak(namespace)
	}
	namespace, err := namespaces.Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		err := namespaces.Delete(context.Background(), namespace.Name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting namespace %s: %v", namespace.Name, err)
		}
	})
	return namespace.Name
}

// NginxConfigMap returns the name of the ConfigMap that new pods of a Deployment mount.
func NginxConfigMap(ctx context.Context, client kubernetes.Interface, namespace, deployment string) (string, error) {
	current, err := client.AppsV1().Deployments(namespace).Get(ctx, deployment, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	names := ConfigMapsOf(&current.Spec.Template.Spec)
	if len(names) != 1 {
		return "", fmt.Errorf("the pods of Deployment %s mount the ConfigMaps %q", deployment, names)
	}
	return names[0], nil
}

// NginxConfigMaps returns the names of the nginx configurations of a Website.
func NginxConfigMaps(ctx context.Context, client kubernetes.Interface, namespace, website string) ([]string, error) {
	list, err := client.CoreV1().ConfigMaps(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: "controller=" + website})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, configMap := range list.Items {
		if !isAgentConfigMap(configMap.Name) {
			names = append(names, configMap.Name)
		}
	}
	return names, nil
}

// isAgentConfigMap reports whether a ConfigMap is read by the agents of a Website.
func isAgentConfigMap(name string) bool { return strings.HasSuffix(name, "-agent") }

// ConfigMapsOf returns the names of the nginx configurations that a pod mounts.
func ConfigMapsOf(pod *corev1.PodSpec) []string {
	var names []string
	for _, volume := range pod.Volumes {
		if volume.ConfigMap != nil {
			names = append(names, volume.ConfigMap.Name)
		}
	}
	return names
}

// NamespaceCalled returns an uncreated Namespace.
func NamespaceCalled(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// DeleteAfter deletes a cluster-scoped object after the test, whose own context has ended by then.
func DeleteAfter(t *testing.T, client interface {
	Delete(context.Context, string, metav1.DeleteOptions) error
}, name string) {
	t.Helper()
	t.Cleanup(func() {
		if err := client.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}
