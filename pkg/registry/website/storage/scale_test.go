package storage

import (
	"context"
	"errors"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// changing is an update that changes the current Scale.
func changing(change func(*autoscalingv1.Scale)) rest.UpdatedObjectInfo {
	return rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		scale := old.DeepCopyObject().(*autoscalingv1.Scale)
		change(scale)
		return scale, nil
	})
}

func scaleTo(t *testing.T, storage *WebsiteStorage, version string,
	info rest.UpdatedObjectInfo) (*autoscalingv1.Scale, error) {
	t.Helper()
	obj, created, err := storage.Scale.Update(requestContext(version, "scale"), "kubia", info, rest.ValidateAllObjectFunc,
		rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{})
	if err != nil {
		return nil, err
	}
	if created {
		t.Error("scaling has created something")
	}
	return obj.(*autoscalingv1.Scale), nil
}

func get(t *testing.T, storage *WebsiteStorage) *website.Website {
	t.Helper()
	obj, err := storage.Website.Get(requestContext("v1beta1", ""), "kubia", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return obj.(*website.Website)
}

func TestScale(t *testing.T) {
	storage := newStorage(t, generic.UndecoratedStorage)
	created := mustCreate(t, storage, newWebsite())
	reported := created.DeepCopy()
	reported.Status.Replicas, reported.Status.Selector = 1, "app=another"
	if _, _, err := storage.Status.Update(
		requestContext("v1beta1", "status"), "kubia", rest.DefaultUpdatedObjectInfo(reported), rest.ValidateAllObjectFunc,
		rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{},
	); err != nil {
		t.Fatal(err)
	}

	obj, err := storage.Scale.Get(requestContext("v1beta1", "scale"), "kubia", &metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale := obj.(*autoscalingv1.Scale)
	if scale.Name != "kubia" || scale.UID != created.UID || scale.Spec.Replicas != 2 || scale.Status.Replicas != 1 ||
		scale.Status.Selector != "mycontroller.nevermosby.io/deployment=kubia-website" {
		t.Errorf("scale = %+v, want 2 replicas wanted, 1 there, and the selector of the spec", scale)
	}

	for _, version := range []string{"v1alpha1", "v1beta1"} {
		for _, replicas := range []int32{5, 0} {
			scaled, err := scaleTo(t, storage, version, changing(func(s *autoscalingv1.Scale) { s.Spec.Replicas = replicas }))
			if err != nil {
				t.Fatal(err)
			}
			w := get(t, storage)
			if scaled.Spec.Replicas != replicas || *w.Spec.Replicas != replicas {
				t.Errorf("scaled through %s to %d, the Website has %d, want %d", version, scaled.Spec.Replicas,
					*w.Spec.Replicas, replicas)
			}
			if w.Spec.DeploymentName != "kubia-website" || w.Status.Selector == "" {
				t.Errorf("scaling changed something else: %+v", w)
			}
		}
	}
}

func TestScaleRefusals(t *testing.T) {
	storage := newStorage(t, generic.UndecoratedStorage)
	mustCreate(t, storage, newWebsite())
	failure := errors.New("not now")
	tests := map[string]struct {
		info rest.UpdatedObjectInfo
		want func(error) bool
	}{
		"negative": {info: changing(func(s *autoscalingv1.Scale) { s.Spec.Replicas = -1 }),
			want: apierrors.IsInvalid},
		"another UID": {info: changing(func(s *autoscalingv1.Scale) { s.UID = types.UID("other") }),
			want: apierrors.IsConflict},
		"another version": {info: changing(func(s *autoscalingv1.Scale) { s.ResourceVersion = "1" }),
			want: apierrors.IsConflict},
		"another namespace": {info: changing(func(s *autoscalingv1.Scale) { s.Namespace = "other" }),
			want: apierrors.IsBadRequest},
		"not a Scale": {info: rest.DefaultUpdatedObjectInfo(newWebsite()), want: apierrors.IsBadRequest},
		"failing to compute": {
			info: rest.DefaultUpdatedObjectInfo(nil, func(context.Context, runtime.Object, runtime.Object) (runtime.Object,
				error) {
				return nil, failure
			}), want: func(err error) bool { return errors.Is(err, failure) },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := scaleTo(t, storage, "v1beta1", test.info); !test.want(err) {
				t.Errorf("error = %v (%s)", err, apierrors.ReasonForError(err))
			}
			if got := *get(t, storage).Spec.Replicas; got != 2 {
				t.Errorf("replicas = %d in spite of the error, want 2", got)
			}
		})
	}
	t.Run("no such Website", func(t *testing.T) {
		ctx := requestContext("v1beta1", "scale")
		if _, err := storage.Scale.Get(ctx, "missing", &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("reading: %v, want NotFound", err)
		}
		info := rest.DefaultUpdatedObjectInfo(
			&autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "missing", Namespace: metav1.NamespaceDefault}},
		)
		if _, _, err := storage.Scale.Update(ctx, "missing", info, rest.ValidateAllObjectFunc,
			rest.ValidateAllObjectUpdateFunc, true, &metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("scaling: %v, want NotFound", err)
		}
	})
}

// TestAdmissionOfScale: admission policies for scales get a Scale.
func TestAdmissionOfScale(t *testing.T) {
	storage := newStorage(t, generic.UndecoratedStorage)
	mustCreate(t, storage, newWebsite())
	denied := errors.New("denied")
	admit := func(_ context.Context, obj, old runtime.Object) error {
		if obj.(*autoscalingv1.Scale).Spec.Replicas != 7 || old.(*autoscalingv1.Scale).Spec.Replicas != 2 {
			t.Errorf("admission was given %+v and %+v", obj, old)
		}
		return denied
	}
	_, _, err := storage.Scale.Update(requestContext("v1beta1", "scale"), "kubia",
		changing(func(s *autoscalingv1.Scale) { s.Spec.Replicas = 7 }),
		rest.ValidateAllObjectFunc, admit, false, &metav1.UpdateOptions{})
	if !errors.Is(err, denied) {
		t.Errorf("error = %v, want admission's", err)
	}
}

// TestScaleKeepsTrackOfOwners: the manager that applied the Website owns the replicas
// of the Scale, and the manager of a scale owns the replicas of the Website.
func TestScaleKeepsTrackOfOwners(t *testing.T) {
	storage := newStorage(t, generic.UndecoratedStorage)
	owned := metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)
	mustCreate(t, storage, newWebsite(func(w *website.Website) {
		w.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "team", Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: v1beta1.SchemeGroupVersion.String(), FieldsType: "FieldsV1", FieldsV1: owned}}
	}))
	_, err := scaleTo(t, storage, "v1beta1", changing(func(s *autoscalingv1.Scale) {
		if len(s.ManagedFields) != 1 || s.ManagedFields[0].Manager != "team" ||
			s.ManagedFields[0].APIVersion != "autoscaling/v1" {
			t.Errorf("owners seen through the Scale = %+v, want team", s.ManagedFields)
		}
		s.Spec.Replicas = 3
		s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "autoscaler", Operation: metav1.ManagedFieldsOperationUpdate,
			APIVersion: "autoscaling/v1", FieldsType: "FieldsV1", FieldsV1: owned, Subresource: "scale"}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	owners := get(t, storage).ManagedFields
	if len(owners) != 1 || owners[0].Manager != "autoscaler" ||
		owners[0].APIVersion != v1beta1.SchemeGroupVersion.String() || owners[0].Subresource != "scale" {
		t.Errorf("owners seen from the Website = %+v, want the autoscaler alone", owners)
	}
}

func TestScaleKind(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		got := (&ScaleREST{}).GroupVersionKind(schema.GroupVersion{Group: website.GroupName, Version: version})
		if want := autoscalingv1.SchemeGroupVersion.WithKind("Scale"); got != want {
			t.Errorf("kind in %s = %s, want %s", version, got, want)
		}
	}
}
