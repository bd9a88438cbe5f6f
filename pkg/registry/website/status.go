package website

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
)

// StatusStrategy is what applies to updates of the status subresource.
type StatusStrategy struct {
	Strategy
}

// NewStatusStrategy returns the status counterpart of strategy.
func NewStatusStrategy(strategy Strategy) StatusStrategy {
	return StatusStrategy{Strategy: strategy}
}

// GetResetFields names what a status update cannot change.
func (StatusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetInEveryVersion(fieldpath.NewSet(
		fieldpath.MakePathOrDie("metadata"),
		fieldpath.MakePathOrDie("spec"),
	))
}

// PrepareForUpdate keeps everything but the status: a permission to report must
// not become a permission to change what is asked for.
func (StatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, previous := obj.(*website.Website), old.(*website.Website)
	updated.Spec = previous.Spec
	metav1.ResetObjectMetaForStatus(&updated.ObjectMeta, &previous.ObjectMeta)
	keepManagedFieldsInV1beta1(updated)
}

// ValidateUpdate checks a changed status.
func (StatusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateWebsiteStatusUpdate(obj.(*website.Website), old.(*website.Website))
}

// WarningsOnUpdate returns nothing: whoever reports has not written the spec.
func (StatusStrategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

var (
	_ rest.RESTUpdateStrategy            = StatusStrategy{}
	_ rest.ResetFieldsStrategy           = StatusStrategy{}
	_ rest.DeclarativeValidationStrategy = StatusStrategy{}
)
