package api

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/test/framework"
)

func TestCRUDByTheGeneratedClient(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace)

	created, err := websites.Create(ctx, framework.NewV1alpha1(namespace, "kubia", func(w *v1alpha1.Website) {
		w.Spec.Replicas = nil
		w.Status.AvailableReplicas = 7
	}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if created.UID == "" || created.Generation != 1 || created.CreationTimestamp.IsZero() {
		t.Errorf("metadata = %+v, want a UID, generation 1 and a creation time", created.ObjectMeta)
	}
	if ptr.Deref(created.Spec.Replicas, -1) != 1 {
		t.Errorf("replicas = %v, want the default 1", created.Spec.Replicas)
	}
	if created.Status.AvailableReplicas != 0 {
		t.Errorf("availableReplicas = %d: a user has set the status", created.Status.AvailableReplicas)
	}
	if _, err := websites.Create(ctx, framework.NewV1alpha1(namespace, "kubia"),
		metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("creating it again: %v, want AlreadyExists", err)
	}

	// The controller writes the status meanwhile, so only a fresh copy can be updated.
	stale := created.DeepCopy()
	framework.WaitSettled(t, namespace, "kubia")
	stale.Spec.GitRepo = "https://example.com/stale.git"
	if _, err := websites.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("updating an outdated copy: %v, want Conflict", err)
	}
	current := framework.MustGet(t, created)
	current.Spec.GitRepo = "https://example.com/other.git"
	updated, err := websites.Update(ctx, current, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if updated.Generation != 2 {
		t.Errorf("generation after a change of the spec = %d, want 2", updated.Generation)
	}

	list, err := websites.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=kubia"})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Spec.GitRepo != "https://example.com/other.git" {
		t.Errorf("list = %+v, want the updated Website", list.Items)
	}

	if err := websites.Delete(ctx, "kubia",
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("another")}); !apierrors.IsConflict(err) {
		t.Errorf("deleting with another UID: %v, want Conflict", err)
	}
	if err := websites.Delete(ctx, "kubia", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := websites.Get(ctx, "kubia", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("getting it after deletion: %v, want NotFound", err)
	}
	if _, err := websites.Update(ctx, updated, metav1.UpdateOptions{}); !apierrors.IsConflict(err) &&
		!apierrors.IsNotFound(err) {
		t.Errorf("updating it after deletion: %v, want an error", err)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace)

	watcher, err := websites.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	// next returns the next event that matches; status updates of the controller are skipped.
	next := func(wanted func(watch.Event, *v1alpha1.Website) bool) *v1alpha1.Website {
		t.Helper()
		for {
			select {
			case event, open := <-watcher.ResultChan():
				if !open {
					t.Fatal("the watch has ended")
				}
				w, ok := event.Object.(*v1alpha1.Website)
				if !ok {
					t.Fatalf("event = %+v, want a Website", event)
				}
				if wanted(event, w) {
					return w
				}
			case <-ctx.Done():
				t.Fatal("the test ended before the event")
			}
		}
	}

	created := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	next(func(e watch.Event, w *v1alpha1.Website) bool { return e.Type == watch.Added && w.UID == created.UID })
	next(func(e watch.Event, w *v1alpha1.Website) bool {
		return e.Type == watch.Modified && w.Status.AvailableReplicas == 1
	})
	framework.Kubectl(t, "annotate", "website", "kubia", "-n", namespace, "note=seen")
	next(func(e watch.Event, w *v1alpha1.Website) bool {
		return e.Type == watch.Modified && w.Annotations["note"] == "seen"
	})
	framework.Kubectl(t, "delete", "website", "kubia", "-n", namespace)
	next(func(e watch.Event, w *v1alpha1.Website) bool { return e.Type == watch.Deleted && w.UID == created.UID })
}

func TestStatusAndSpecAreApart(t *testing.T) {
	t.Parallel()
	ctx, namespace := t.Context(), framework.NewNamespace(t)
	websites := framework.Admin(t).Websites.WebsiteV1alpha1().Websites(namespace)
	w := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia"))
	// Once the status is final, the controller does not write, so the writes below cause no conflict.
	framework.WaitSettled(t, namespace, "kubia")

	current := framework.MustGet(t, w)
	current.Status.AvailableReplicas = 42
	current.Annotations = map[string]string{"by": "update"}
	updated, err := websites.Update(ctx, current, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if updated.Status.AvailableReplicas != 1 || updated.Annotations["by"] != "update" {
		t.Errorf("update = %+v, want the annotation and an unchanged status", updated)
	}

	updated.Spec.GitRepo = "https://example.com/hijacked.git"
	updated.Spec.Replicas = ptr.To[int32](9)
	updated.Annotations["by"] = "status"
	updated.Status.AvailableReplicas = 1
	reported, err := websites.UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if reported.Spec.GitRepo != w.Spec.GitRepo || *reported.Spec.Replicas != 1 || reported.Annotations["by"] != "update" ||
		reported.Generation != updated.Generation {
		t.Errorf("status update = %+v, want an unchanged spec, metadata and generation", reported)
	}

	missing := framework.NewV1alpha1(namespace, "missing")
	if _, err := websites.UpdateStatus(ctx, missing, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("updating the status of a Website that does not exist: %v, want NotFound", err)
	}
}
