package website

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// A request in v1alpha1 sets the fields that this version lacks with an
// annotation. Conversion unpacks it without the stored object, which determines
// the meaning of a request without the annotation.

func isV1alpha1(ctx context.Context) bool {
	return requestVersion(ctx) == v1alpha1.SchemeGroupVersion.Version
}

// keepCarriedFields keeps the fields of old that v1alpha1 lacks if updated is from
// a request in that version without the annotation, or with an invalid one. Other
// requests set the fields. The field manager, which runs before the strategy, has
// recorded the fields as removed, so their managers are kept too.
func keepCarriedFields(ctx context.Context, updated, old *website.Website) {
	if !isV1alpha1(ctx) || acceptAnnotation(ctx, updated) {
		return
	}
	if carries, err := v1alpha1.CarriesFields(updated); err != nil || carries {
		return
	}
	if carries, err := v1alpha1.CarriesFields(old); err != nil || !carries {
		return
	}
	spec, status := old.Spec.DeepCopy(), old.Status.DeepCopy()
	spec.DeploymentName, spec.Replicas = updated.Spec.DeploymentName, updated.Spec.Replicas
	if spec.Source.Git == nil {
		spec.Source.Git = &v1beta1.GitSource{}
	}
	spec.Source.Git.Repository = gitOf(&updated.Spec).Repository
	status.AvailableReplicas = updated.Status.AvailableReplicas
	updated.Spec, updated.Status = *spec, *status
	if len(updated.ManagedFields) > 0 {
		updated.ManagedFields = v1alpha1.WithManagersOf(updated.ManagedFields, old.ManagedFields, isCarried)
	}
}

// isCarried reports whether v1alpha1 lacks the field.
func isCarried(path fieldpath.Path) bool {
	if len(path) < 2 || path[0].FieldName == nil || path[1].FieldName == nil {
		return false
	}
	switch top, name := *path[0].FieldName, *path[1].FieldName; top {
	case "spec":
		return name != "deploymentName" && name != "replicas" && !v1alpha1.IsRepository(path)
	case "status":
		return name != "availableReplicas"
	}
	return false
}

// acceptAnnotation removes an annotation that conversion has unpacked, and returns false if there is none.
// Conversion leaves one that sets no field, and the list of ignored members. These are treated as unknown fields
// of the request: with strict validation the annotation stays, to be rejected.
func acceptAnnotation(ctx context.Context, w *website.Website) bool {
	value, present := w.Annotations[website.AnnotationCarriedFields]
	if !present {
		return false
	}
	ignored, err := v1alpha1.ReadAnnotation(value)
	if err != nil {
		return false
	}
	validation := fieldValidationFrom(ctx)
	if len(ignored) > 0 && validation == metav1.FieldValidationStrict {
		return true
	}
	if validation != metav1.FieldValidationIgnore {
		for _, why := range ignored {
			warning.AddWarning(ctx, "", fmt.Sprintf("metadata.annotations[%s]: %s", website.AnnotationCarriedFields, why))
		}
	}
	// Other versions of the object may share the map.
	w.Annotations = maps.Clone(w.Annotations)
	delete(w.Annotations, website.AnnotationCarriedFields)
	return true
}

// validateAnnotation rejects an annotation that was not accepted.
func validateAnnotation(ctx context.Context, w *website.Website) field.ErrorList {
	value, present := w.Annotations[website.AnnotationCarriedFields]
	if !present || !isV1alpha1(ctx) {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(website.AnnotationCarriedFields)
	ignored, err := v1alpha1.ReadAnnotation(value)
	if err != nil {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{},
			fmt.Sprintf("must be the fields of v1beta1 as JSON; remove the annotation to keep the stored fields: %v", err))}
	}
	var errs field.ErrorList
	for _, why := range ignored {
		errs = append(errs, field.Invalid(path, field.OmitValueType{}, why))
	}
	return errs
}

// annotationWarnings warns of an annotation that changes stored fields, because a
// user of v1alpha1 may have exported it long ago.
func annotationWarnings(ctx context.Context, spec, old *v1beta1.WebsiteSpec) []string {
	if !isV1alpha1(ctx) {
		return nil
	}
	changed := changedCarriedFields(reflect.ValueOf(*spec), reflect.ValueOf(*old), "spec")
	if len(changed) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("metadata.annotations[%s]: changes %s; remove the annotation to keep the stored values",
		website.AnnotationCarriedFields, strings.Join(changed, ", "))}
}

// changedCarriedFields returns the paths of the changed fields that v1alpha1 lacks. For a struct that v1alpha1
// has in part, it returns the paths of the members.
func changedCarriedFields(now, before reflect.Value, path string) []string {
	var changed []string
	for i := range now.NumField() {
		name, _, _ := strings.Cut(now.Type().Field(i).Tag.Get("json"), ",")
		at, member, former := path+"."+name, now.Field(i), before.Field(i)
		_, isInV1alpha1 := fieldsOfV1alpha1[at]
		switch {
		case isInV1alpha1:
		case strings.HasPrefix(repositoryPath, at+"."):
			changed = append(changed, changedCarriedFields(orZero(member), orZero(former), at)...)
		case !apiequality.Semantic.DeepEqual(member.Interface(), former.Interface()):
			changed = append(changed, at)
		}
	}
	return changed
}

// orZero returns the struct that value is or points to, or a zero one for nil.
func orZero(value reflect.Value) reflect.Value {
	if value.Kind() != reflect.Pointer {
		return value
	}
	if value.IsNil() {
		return reflect.Zero(value.Type().Elem())
	}
	return value.Elem()
}
