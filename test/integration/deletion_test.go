package integration

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// childrenGone checks that nothing of a Website called name is left.
func childrenGone(t *testing.T, namespace, name string) func(context.Context) error {
	t.Helper()
	client := admin(t).kubernetes
	return func(ctx context.Context) error {
		_, deployment := client.AppsV1().Deployments(namespace).Get(ctx, name+"-website", metav1.GetOptions{})
		_, service := client.CoreV1().Services(namespace).Get(ctx, name+"-website-npsvc", metav1.GetOptions{})
		_, configMap := client.CoreV1().ConfigMaps(namespace).Get(ctx, name+"-website-nginx", metav1.GetOptions{})
		for kind, err := range map[string]error{"Deployment": deployment, "Service": service, "ConfigMap": configMap} {
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s of Website %s: %v, want NotFound", kind, name, err)
			}
		}
		return nil
	}
}

func TestGarbageCollectionRemovesChildren(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	w := mustCreate(t, newWebsite(namespace, "kubia"))
	waitAvailable(t, w, 1)

	kubectl(t, "delete", "website", "kubia", "-n", namespace)
	waitFor(t, "the children are gone", childrenGone(t, namespace, "kubia"))
}

func TestDeleteCollection(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), newNamespace(t)
	websites := admin(t).websites.WebsiteV1alpha1().Websites(namespace)
	for _, name := range []string{"one", "two"} {
		mustCreate(t, newWebsite(namespace, name))
	}
	kubectl(t, "label", "website", "two", "-n", namespace, "keep=yes")

	if err := websites.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "!keep"}); err != nil {
		t.Fatal(err)
	}
	list, err := websites.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Name != "two" {
		t.Errorf("left = %+v, want two alone", list.Items)
	}
}

func TestNamespaceDeletionRemovesWebsites(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), newNamespace(t)
	client := admin(t)
	waitAvailable(t, mustCreate(t, newWebsite(namespace, "kubia")), 1)

	if err := client.kubernetes.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the namespace is gone", func(ctx context.Context) error {
		_, err := client.kubernetes.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("namespace: %v, want NotFound", err)
		}
		return nil
	})
	list, err := client.websites.WebsiteV1alpha1().Websites(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 0 {
		t.Errorf("Websites left in a deleted namespace: %+v", list.Items)
	}
	if _, err := client.websites.WebsiteV1alpha1().Websites(namespace).Create(ctx, newWebsite(namespace, "late"), metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("creating a Website in a deleted namespace: %v, want NotFound", err)
	}
}

func TestFinalizerHoldsDeletion(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	w := mustCreate(t, newWebsite(namespace, "kubia"))
	waitAvailable(t, w, 1)
	kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":["example.com/hold"]}}`)

	kubectl(t, "delete", "website", "kubia", "-n", namespace, "--wait=false")
	if current := mustGet(t, w); current.DeletionTimestamp == nil {
		t.Error("the Website has no deletion timestamp")
	}
	kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	waitFor(t, "the children are gone", childrenGone(t, namespace, "kubia"))
}
