package website

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
)

// Strategy is what applies when users create, update and delete Websites.
type Strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
}

var (
	_ rest.RESTCreateStrategy              = Strategy{}
	_ rest.RESTUpdateStrategy              = Strategy{}
	_ rest.RESTDeleteStrategy              = Strategy{}
	_ rest.ResetFieldsStrategy             = Strategy{}
	_ rest.RESTUpdateStrategy              = StatusStrategy{}
	_ rest.ResetFieldsStrategy             = StatusStrategy{}
	_ rest.GarbageCollectionDeleteStrategy = Strategy{}
)

// NewStrategy returns the strategy for Websites whose types typer knows.
func NewStrategy(typer runtime.ObjectTyper) Strategy {
	return Strategy{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator}
}

// NamespaceScoped is true: each team has its Websites in its own namespaces.
func (Strategy) NamespaceScoped() bool { return true }

// DefaultGarbageCollectionPolicy is background deletion, as for every built-in
// type of its age: kubectl returns at once and the children follow.
func (Strategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.DeleteDependents
}

// GetResetFields names the fields that users cannot own through the main
// resource, so that server-side apply does not record them as theirs.
func (Strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): fieldpath.NewSet(
			fieldpath.MakePathOrDie("status"),
		),
	}
}

// PrepareForCreate discards the status, which only the controller may claim,
// and starts counting generations.
func (Strategy) PrepareForCreate(_ context.Context, obj runtime.Object) {
	w := obj.(*website.Website)
	w.Status = website.WebsiteStatus{}
	w.Generation = 1
}

// PrepareForUpdate keeps the status and bumps the generation when the spec
// changes, so that clients can tell whether an observation is of this spec.
func (Strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, previous := obj.(*website.Website), old.(*website.Website)
	updated.Status = previous.Status
	if !apiequality.Semantic.DeepEqual(updated.Spec, previous.Spec) {
		updated.Generation = previous.Generation + 1
	}
}

// Validate checks a new Website.
func (Strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return validation.ValidateWebsite(obj.(*website.Website))
}

// ValidateUpdate checks a changed Website.
func (Strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateWebsiteUpdate(obj.(*website.Website), old.(*website.Website))
}

// WarningsOnCreate returns nothing: all that is accepted is also advisable.
func (Strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }

// WarningsOnUpdate returns nothing, as WarningsOnCreate.
func (Strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// Canonicalize leaves the object as it is: a Website has one form only.
func (Strategy) Canonicalize(runtime.Object) {}

// AllowCreateOnUpdate is false: a PUT to a name that does not exist is a
// mistake, not a request to create. Server-side apply creates all the same.
func (Strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate is true, as for built-in types: a PUT without a
// resourceVersion overwrites.
func (Strategy) AllowUnconditionalUpdate(context.Context) bool { return true }

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
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): fieldpath.NewSet(
			fieldpath.MakePathOrDie("metadata"),
			fieldpath.MakePathOrDie("spec"),
		),
	}
}

// PrepareForUpdate keeps everything but the status: a permission to report must
// not become a permission to change what is asked for.
func (StatusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, previous := obj.(*website.Website), old.(*website.Website)
	updated.Spec = previous.Spec
	metav1.ResetObjectMetaForStatus(&updated.ObjectMeta, &previous.ObjectMeta)
}

// ValidateUpdate checks a changed status.
func (StatusStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateWebsiteStatusUpdate(obj.(*website.Website), old.(*website.Website))
}

// GetAttrs returns the labels and fields by which a Website can be selected.
// It returns an error for any other type.
func GetAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	w, ok := obj.(*website.Website)
	if !ok {
		return nil, nil, fmt.Errorf("selecting Websites: got a %T", obj)
	}
	return labels.Set(w.Labels), generic.ObjectMetaFieldsSet(&w.ObjectMeta, true), nil
}

// MatchWebsite selects Websites by labels and fields.
func MatchWebsite(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: GetAttrs}
}
