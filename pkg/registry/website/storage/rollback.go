package storage

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// RollbackREST sets spec.pin of a Website: by default to the release before.
type RollbackREST struct {
	store   *genericregistry.Store
	fields  *registry.FieldAuthorizer
	manager registry.PinManager
}

var (
	_ rest.NamedCreater                   = &RollbackREST{}
	_ rest.SubresourceObjectMetaPreserver = &RollbackREST{}
)

// New returns an empty body to decode a request into.
func (*RollbackREST) New() runtime.Object { return &website.WebsiteRollback{} }

// Destroy does nothing: the store underneath belongs to REST, which closes it.
func (*RollbackREST) Destroy() {}

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate keeps the UID in bodies, which is
// a precondition.
func (*RollbackREST) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool { return true }

// Create rolls back.
func (r *RollbackREST) Create(ctx context.Context, name string, obj runtime.Object,
	createValidation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	rollback, ok := obj.(*website.WebsiteRollback)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a WebsiteRollback: %T", obj))
	}
	if rollback.Name != "" && rollback.Name != name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in WebsiteRollback object")
	}
	if errs := validation.ValidateRollback(rollback); len(errs) > 0 {
		return nil, apierrors.NewInvalid(website.Kind("WebsiteRollback"), name, errs)
	}
	if createValidation != nil {
		if err := createValidation(ctx, rollback.DeepCopyObject()); err != nil {
			return nil, err
		}
	}

	var replaced string
	change := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		w := old.(*website.Website)
		if w.ResourceVersion == "" {
			return nil, apierrors.NewNotFound(website.Resource("websites"), name)
		}
		if err := preconditionsOf(rollback).Check(name, w); err != nil {
			return nil, err
		}
		replaced = w.Status.Commit
		updated := w.DeepCopy()
		if err := registry.RollBack(updated, ptr.Deref(rollback.Commit, "")); err != nil {
			return nil, err
		}
		return r.manager.Record(w, updated, options.FieldManager), nil
	})
	changed, _, err := r.store.Update(ctx, name, change, rest.ValidateAllObjectFunc,
		onUpdate(nil, r.fields.Authorize), false, &metav1.UpdateOptions{DryRun: options.DryRun})
	if err != nil {
		return nil, publicConflict(err)
	}
	return registry.NewRollback(changed.(*website.Website), replaced), nil
}

// preconditionsOf returns the UID and the resource version that the Website must have, if given.
func preconditionsOf(rollback *website.WebsiteRollback) *storage.Preconditions {
	preconditions := &storage.Preconditions{}
	if rollback.UID != "" {
		preconditions.UID = &rollback.UID
	}
	if rollback.ResourceVersion != "" {
		preconditions.ResourceVersion = &rollback.ResourceVersion
	}
	return preconditions
}
