package controller

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

func TestGarbageCollectionRemovesChildren(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitAvailable(t, w, 1)

	framework.Kubectl(t, "delete", "website", "kubia", "-n", namespace)
	framework.WaitFor(t, "the children are gone", framework.ChildrenGone(t, namespace, "kubia"))
}

func TestDeleteCollection(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace)
	for _, name := range []string{"one", "two"} {
		framework.MustCreate(t, framework.NewV1alpha1(namespace, name))
	}
	framework.Kubectl(t, "label", "website", "two", "-n", namespace, "keep=yes")

	if err := websites.DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "!keep"}); err != nil {
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
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	client := framework.Admin(t)
	framework.WaitAvailable(t, framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia")), 1)

	if err := client.Kubernetes.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "the namespace is gone", func(ctx context.Context) error {
		_, err := client.Kubernetes.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("namespace: %v, want NotFound", err)
		}
		return nil
	})
	list, err := client.Websites.WebsiteV1alpha1().Websites(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 0 {
		t.Errorf("Websites left in a deleted namespace: %+v", list.Items)
	}
	if _, err := client.Websites.WebsiteV1alpha1().Websites(namespace).Create(ctx,
		framework.NewV1alpha1(namespace, "late"), metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("creating a Website in a deleted namespace: %v, want NotFound", err)
	}
}

func TestFinalizerHoldsDeletion(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitAvailable(t, w, 1)
	framework.Kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p",
		`{"metadata":{"finalizers":["example.com/hold"]}}`)

	framework.Kubectl(t, "delete", "website", "kubia", "-n", namespace, "--wait=false")
	if current := framework.MustGet(t, w); current.DeletionTimestamp == nil {
		t.Error("the Website has no deletion timestamp")
	}
	framework.Kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p",
		`{"metadata":{"finalizers":null}}`)
	framework.WaitFor(t, "the children are gone", framework.ChildrenGone(t, namespace, "kubia"))
}
