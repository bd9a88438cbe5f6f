package website

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
)

// pendingStatus is the status of a Website until website-controller reports one, as
// clients regard an object without conditions as ready. The observed generations
// are 0: the controller has observed none.
func pendingStatus(created metav1.Time) v1beta1.WebsiteStatus {
	return v1beta1.WebsiteStatus{Conditions: []metav1.Condition{{
		Type:               v1beta1.WebsiteReady,
		Status:             metav1.ConditionUnknown,
		Reason:             v1beta1.WebsiteReasonPending,
		Message:            "website-controller has not reported yet",
		LastTransitionTime: created,
	}}}
}

// StatusStrategy is the strategy of the status subresource.
type StatusStrategy struct {
	Strategy
}

// NewStatusStrategy returns the status counterpart of strategy.
func NewStatusStrategy(strategy Strategy) StatusStrategy {
	return StatusStrategy{Strategy: strategy}
}

// GetResetFields returns the fields that a status update cannot change.
func (StatusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetInEveryVersion(fieldpath.NewSet(
		fieldpath.MakePathOrDie("metadata"),
		fieldpath.MakePathOrDie("spec"),
		fieldpath.MakePathOrDie("status", "sync", "lastRequest"),
	))
}

// PrepareForUpdate keeps everything but the status: permission to update the status
// must not include permission to change the spec.
func (StatusStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	updated, previous := obj.(*website.Website), old.(*website.Website)
	keepCarriedFields(ctx, updated, previous)
	updated.Spec = previous.Spec
	keepSyncRequest(&updated.Status, &previous.Status)
	annotation, unreadable := updated.Annotations[website.AnnotationCarriedFields]
	metav1.ResetObjectMetaForStatus(&updated.ObjectMeta, &previous.ObjectMeta)
	if unreadable && isV1alpha1(ctx) {
		// Validation rejects the annotation.
		updated.Annotations = map[string]string{website.AnnotationCarriedFields: annotation}
	}
	keepManagedFieldsInV1beta1(updated)
}

// keepSyncRequest keeps the last request, which only the sync subresource records. A client
// without the field keeps all of it.
func keepSyncRequest(updated, previous *v1beta1.WebsiteStatus) {
	switch {
	case previous.Sync == nil:
		updated.Sync = nil
	case updated.Sync == nil:
		updated.Sync = previous.Sync
	default:
		updated.Sync.LastRequest = previous.Sync.LastRequest
	}
}

// ValidateUpdate checks a changed status.
func (StatusStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	if errs := validateAnnotation(ctx, obj.(*website.Website)); len(errs) > 0 {
		return errs
	}
	return validation.ValidateWebsiteStatusUpdate(obj.(*website.Website), old.(*website.Website))
}

// WarningsOnUpdate returns none: a status update does not change the spec.
func (StatusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

var (
	_ rest.RESTUpdateStrategy            = StatusStrategy{}
	_ rest.ResetFieldsStrategy           = StatusStrategy{}
	_ rest.DeclarativeValidationStrategy = StatusStrategy{}
)
