package website

import (
	"context"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
)

// Strategy is the strategy of the main resource.
type Strategy struct {
	// DeclarativeValidation runs the rules that the types of v1beta1 declare;
	// its scheme also returns the kinds of objects.
	rest.DeclarativeValidation
	names.NameGenerator
}

var (
	_ rest.RESTCreateStrategy              = Strategy{}
	_ rest.RESTUpdateStrategy              = Strategy{}
	_ rest.RESTDeleteStrategy              = Strategy{}
	_ rest.ResetFieldsStrategy             = Strategy{}
	_ rest.GarbageCollectionDeleteStrategy = Strategy{}
	_ rest.DeclarativeValidationStrategy   = Strategy{}
)

// NewStrategy returns the strategy for Websites in the versions of scheme.
func NewStrategy(scheme *runtime.Scheme) Strategy {
	return Strategy{DeclarativeValidation: rest.DeclarativeValidation{Scheme: scheme}, NameGenerator: nameGenerator{}}
}

const (
	// maxGeneratedName is the maximum length of a generated name. It equals the limit of
	// deploymentName, which defaults to it.
	maxGeneratedName = 57
	// randomLength is the length of the random suffix, as in names.SimpleNameGenerator.
	randomLength = 5
)

// nameGenerator generates names as names.SimpleNameGenerator does, with another maximum length.
type nameGenerator struct{}

// GenerateName returns base, truncated if necessary, with a random suffix.
func (nameGenerator) GenerateName(base string) string {
	return base[:min(len(base), maxGeneratedName-randomLength)] + utilrand.String(randomLength)
}

// NamespaceScoped is true.
func (Strategy) NamespaceScoped() bool { return true }

// DefaultGarbageCollectionPolicy is background deletion, as for Deployments.
func (Strategy) DefaultGarbageCollectionPolicy(context.Context) rest.GarbageCollectionPolicy {
	return rest.DeleteDependents
}

// GetResetFields names the fields that users cannot own through the main
// resource, so that server-side apply does not record them as owned.
func (Strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return resetInEveryVersion(fieldpath.NewSet(fieldpath.MakePathOrDie("status")))
}

// resetInEveryVersion maps the versions to fields, whose paths are the same in
// all of them.
func resetInEveryVersion(reset *fieldpath.Set) map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(v1alpha1.SchemeGroupVersion.String()): reset,
		fieldpath.APIVersion(v1beta1.SchemeGroupVersion.String()):  reset,
	}
}

// PrepareForCreate replaces the status, which only the controller reports, with a
// pending one and sets generation 1. It also defaults deploymentName to a generated name, which is set
// after the defaults of the type; v1alpha1 has no such default.
func (Strategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	w := obj.(*website.Website)
	w.Status = pendingStatus(w.CreationTimestamp)
	w.Generation = 1
	dropPinOfSuspend(&w.Spec)
	keepManagedFieldsInV1beta1(w)
	if isV1alpha1(ctx) {
		acceptAnnotation(ctx, w)
		return
	}
	if w.Spec.DeploymentName == "" {
		w.Spec.DeploymentName = w.Name
	}
}

// PrepareForUpdate keeps the status, pins a suspended Website, and increments the generation
// when the spec changes, so that clients can compare it with the status.
func (Strategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	updated, previous := obj.(*website.Website), old.(*website.Website)
	keepManagedFieldsInV1beta1(updated)
	keepCarriedFields(ctx, updated, previous)
	updated.Status = previous.Status
	if updated.Spec.DeploymentName == "" && !isV1alpha1(ctx) {
		updated.Spec.DeploymentName = previous.Spec.DeploymentName
	}
	if apiequality.Semantic.DeepEqual(updated.Spec, previous.Spec) {
		return
	}
	// A manifest without the pin of suspending changes nothing.
	if pinSuspended(updated, previous); !apiequality.Semantic.DeepEqual(updated.Spec, previous.Spec) {
		updated.Generation = previous.Generation + 1
	}
}

// Validate checks a new Website.
func (Strategy) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	if errs := validateAnnotation(ctx, obj.(*website.Website)); len(errs) > 0 {
		return errs
	}
	return validation.ValidateWebsite(obj.(*website.Website))
}

// ValidateUpdate checks a changed Website.
func (Strategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	if errs := validateAnnotation(ctx, obj.(*website.Website)); len(errs) > 0 {
		return errs
	}
	return validation.ValidateWebsiteUpdate(obj.(*website.Website), old.(*website.Website))
}

// Canonicalize does nothing: a Website has one form only.
func (Strategy) Canonicalize(runtime.Object) {}

// AllowCreateOnUpdate is false: a PUT to a missing name is an error. Server-side
// apply still creates.
func (Strategy) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate is true, as for built-in types: a PUT without a
// resourceVersion overwrites.
func (Strategy) AllowUnconditionalUpdate(context.Context) bool { return true }
