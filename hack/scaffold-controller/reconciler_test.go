package main

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func testWebsite() *v1beta1.Website {
	w := &v1beta1.Website{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "site", UID: "1", Generation: 1},
		Spec: v1beta1.WebsiteSpec{DeploymentName: "site",
			Source: v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: "https://git.example.com/site.git"}}},
	}
	v1beta1.SetObjectDefaults_Website(w)
	return w
}

// counting returns a reconciler and the number of its writes.
func counting(t *testing.T, compareStatus bool) (*reconciler, *int) {
	t.Helper()
	types, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	writes := 0
	c := fake.NewClientBuilder().WithScheme(types).WithObjects(testWebsite()).WithStatusSubresource(&v1beta1.Website{},
		&appsv1.Deployment{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
				writes++
				return c.Create(ctx, object, options...)
			},
			Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
				writes++
				return c.Update(ctx, object, options...)
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, subresource string, object client.Object,
				options ...client.SubResourceUpdateOption) error {
				writes++
				return c.SubResource(subresource).Update(ctx, object, options...)
			},
		}).Build()
	return &reconciler{Client: c, scheme: types, compareStatus: compareStatus}, &writes
}

func TestReconcile(t *testing.T) {
	r, writes := counting(t, true)
	key := client.ObjectKey{Namespace: "default", Name: "site"}
	reconcile := func() *v1beta1.Website {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		w := &v1beta1.Website{}
		if err := r.Get(t.Context(), key, w); err != nil {
			t.Fatal(err)
		}
		return w
	}
	if w := reconcile(); meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteReady) {
		t.Errorf("Ready before the Deployment is: %+v", w.Status)
	}
	if *writes != 5 {
		t.Errorf("got %d writes, want four children and the status", *writes)
	}

	d := &appsv1.Deployment{}
	if err := r.Get(t.Context(), key, d); err != nil {
		t.Fatal(err)
	}
	if owner := metav1.GetControllerOf(d); owner == nil || owner.APIVersion != definition.String() || owner.UID != "1" {
		t.Errorf("the Deployment belongs to %v", owner)
	}
	// The server's defaults are kept.
	d.Spec.Template.Spec.DNSPolicy, d.Spec.Template.Spec.Containers[0].TerminationMessagePath = corev1.DNSClusterFirst,
		corev1.TerminationMessagePathDefault
	d.Spec.Template.Spec.Containers[0].ReadinessProbe.SuccessThreshold = 1
	d.Generation = 1
	if err := r.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1,
		AvailableReplicas: 1}
	if err := r.Status().Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	*writes = 0
	if w := reconcile(); !meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteReady) ||
		w.Status.ObservedGeneration != 1 {
		t.Errorf("not Ready though the Deployment is: %+v", w.Status)
	}
	if *writes != 1 {
		t.Errorf("got %d writes, want the status only", *writes)
	}
	if reconcile(); *writes != 1 {
		t.Errorf("got %d writes without a change, want none", *writes-1)
	}
	if err := r.Get(t.Context(), key, d); err != nil {
		t.Fatal(err)
	}
	*d.Spec.Replicas = 3
	if err := r.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	reconcile()
	if err := r.Get(t.Context(), key, d); err != nil || *d.Spec.Replicas != 1 {
		t.Errorf("the Deployment has %d replicas, %v, want it corrected", *d.Spec.Replicas, err)
	}
}

// TestBookWritesStatus: without --tuned each reconcile ends with a status update.
func TestBookWritesStatus(t *testing.T) {
	r, writes := counting(t, false)
	for range 2 {
		if _, err := r.Reconcile(t.Context(),
			ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "site"}}); err != nil {
			t.Fatal(err)
		}
	}
	if *writes != 6 {
		t.Errorf("got %d writes, want four children and two of the status", *writes)
	}
}
