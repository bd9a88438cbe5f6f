package storage

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/registry/rest/resttest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestStatusStore runs the updates of the test suite for stores of built-in types.
// Its other tests do not apply: a status is created and deleted with its Website.
// Scales have tests of their own, as the suite requires a generation.
func TestStatusStore(t *testing.T) {
	storage := newStorage(t, generic.UndecoratedStorage)
	create := func(ctx context.Context, obj runtime.Object) error {
		w := obj.DeepCopyObject().(*website.Website)
		// The suite cannot delete its objects through a store without deletion.
		if _, _, err := storage.Website.Delete(ctx, w.Name, rest.ValidateAllObjectFunc,
			&metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		key, err := storage.Website.KeyFunc(ctx, w.Name)
		if err != nil {
			return err
		}
		// The object bypasses the strategy, which would replace the UID of the suite.
		return storage.Website.Storage.Create(ctx, key, w, &website.Website{}, 0, false)
	}
	get := func(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
		return storage.Status.Get(ctx, obj.(metav1.Object).GetName(), &metav1.GetOptions{})
	}
	status := func(tweak func(*v1beta1.WebsiteStatus)) resttest.UpdateFunc {
		return func(obj runtime.Object) runtime.Object {
			tweak(&obj.(*website.Website).Status)
			return obj
		}
	}
	tester := resttest.New(t, storage.Status)
	tester.SetRequestInfo(&genericapirequest.RequestInfo{APIGroup: website.GroupName, APIVersion: "v1beta1",
		Resource: "websites", Subresource: "status"})
	tester.TestUpdate(newWebsite(), create, get,
		status(func(s *v1beta1.WebsiteStatus) { s.ReadyReplicas = 1 }),
		status(func(s *v1beta1.WebsiteStatus) { s.Replicas = -1 }),
		status(func(s *v1beta1.WebsiteStatus) { s.Commit = "abc" }))
}

func TestStatus(t *testing.T) {
	storage := newStorage(t, generic.UndecoratedStorage)
	created := mustCreate(t, storage, newWebsite())
	ctx := requestContext("v1beta1", "status")

	reported := created.DeepCopy()
	reported.Status.ReadyReplicas = 2
	reported.Spec.Polling.PeriodSeconds = 300
	obj, _, err := storage.Status.Update(ctx, "kubia", rest.DefaultUpdatedObjectInfo(reported), rest.ValidateAllObjectFunc,
		rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if w := obj.(*website.Website); w.Status.ReadyReplicas != 2 || w.Spec.Polling.PeriodSeconds == 300 {
		t.Errorf("after a status update: %+v, want 2 ready replicas and the spec as it was", w)
	}
	got, err := storage.Status.Get(ctx, "kubia", &metav1.GetOptions{})
	if err != nil || got.(*website.Website).Status.ReadyReplicas != 2 {
		t.Errorf("status read back = %+v (%v), want 2 ready replicas", got, err)
	}

	missing := newWebsite(func(w *website.Website) { w.Name = "missing" })
	if _, _, err := storage.Status.Update(ctx, "missing", rest.DefaultUpdatedObjectInfo(missing),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{}); err == nil {
		t.Error("a status update has created a Website")
	}
}
