package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestUnlabelledChildrenComeBack deletes a Deployment that another client has created and a Website
// owns: the informers do not select it.
func TestUnlabelledChildrenComeBack(t *testing.T) {
	t.Parallel()
	ctx, namespace, client := t.Context(), framework.NewNamespace(t), framework.Admin(t)
	framework.Kubectl(t, "create", "deployment", "kubia-website", "--image=nginx", "-n", namespace)
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitCondition(t, namespace, "kubia", v1beta1.WebsiteReady, metav1.ConditionFalse,
		v1beta1.WebsiteReasonNameTaken)
	own(t, w, "deployment", "kubia-website")
	framework.WaitCondition(t, namespace, "kubia", v1beta1.WebsiteReady, metav1.ConditionFalse,
		v1beta1.WebsiteReasonSpecInvalid)

	// The selector is immutable, so the update is rejected, and the Deployment stays without
	// the label.
	deployments := client.Kubernetes.AppsV1().Deployments(namespace)
	before, err := deployments.Get(ctx, "kubia-website", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := deployments.Delete(ctx, before.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	deleted := time.Now()
	framework.WaitFor(t, "the Deployment is created again", func(ctx context.Context) error {
		current, err := deployments.Get(ctx, before.Name, metav1.GetOptions{})
		if err == nil && current.UID == before.UID {
			err = errors.New("it is not deleted yet")
		}
		return err
	})
	if took := time.Since(deleted); took > 30*time.Second {
		t.Errorf("the Deployment was created again after %v: its deletion was not noticed", took)
	}
	framework.WaitReady(t, namespace, "kubia")
}

// TestForeignObjectGoes deletes a foreign object whose name a Website waits for.
func TestForeignObjectGoes(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.Kubectl(t, "create", "service", "clusterip", "kubia-website-npsvc", "--tcp=80", "-n", namespace)
	framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	framework.WaitCondition(t, namespace, "kubia", v1beta1.WebsiteReady, metav1.ConditionFalse,
		v1beta1.WebsiteReasonNameTaken)
	framework.Kubectl(t, "delete", "service", "kubia-website-npsvc", "-n", namespace)
	deleted := time.Now()
	framework.WaitReady(t, namespace, "kubia")
	if took := time.Since(deleted); took > 30*time.Second {
		t.Errorf("the Website was ready after %v: its deletion was not noticed", took)
	}
}
