package api

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// TestRBAC binds users to the cluster's own roles, which aggregate the permissions for Websites.
func TestRBAC(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	as := func(user string) framework.Clients {
		t.Helper()
		config, err := framework.Cluster.UserConfig(user)
		if err != nil {
			t.Fatal(err)
		}
		return framework.NewClients(t, config)
	}
	// The users exist in this test only, as website-apiserver caches denials for seconds.
	editor, viewer, stranger := namespace+"-editor", namespace+"-viewer", namespace+"-stranger"
	framework.Bind(t, namespace, editor, "ClusterRole", "edit")
	framework.Bind(t, namespace, viewer, "ClusterRole", "view")

	edits := as(editor).Websites.WebsiteV1alpha1()
	w, err := edits.Websites(namespace).Create(ctx, framework.NewV1alpha1(namespace, "kubia"), metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("an editor creates a Website: %v", err)
	}
	if _, err := edits.Websites("default").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("an editor lists another namespace: %v, want Forbidden", err)
	}
	if _, err := edits.Websites(namespace).UpdateStatus(ctx, w, metav1.UpdateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("an editor writes the status: %v, want Forbidden", err)
	}

	if _, err := as(editor).Websites.WebsiteV1beta1().Websites(namespace).UpdateScale(ctx, "kubia", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: 1},
	}, metav1.UpdateOptions{}); err != nil {
		t.Errorf("an editor scales a Website: %v", err)
	}

	views := as(viewer).Websites.WebsiteV1alpha1().Websites(namespace)
	if _, err := views.Get(ctx, "kubia", metav1.GetOptions{}); err != nil {
		t.Errorf("a viewer gets a Website: %v", err)
	}
	if _, err := as(viewer).Websites.WebsiteV1beta1().Websites(namespace).GetScale(ctx, "kubia",
		metav1.GetOptions{}); err != nil {
		t.Errorf("a viewer gets a scale: %v", err)
	}
	if err := views.Delete(ctx, "kubia", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a viewer deletes a Website: %v, want Forbidden", err)
	}

	if _, err := as(stranger).Websites.WebsiteV1alpha1().Websites(namespace).List(ctx,
		metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a stranger lists Websites: %v, want Forbidden", err)
	}

	if err := edits.Websites(namespace).Delete(ctx, "kubia", metav1.DeleteOptions{}); err != nil {
		t.Errorf("an editor deletes a Website: %v", err)
	}
}
