package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// These are the rules of pods, without which the Deployment would be rejected
// later.

var (
	// resourceNames are the supported resources.
	resourceNames = []string{string(corev1.ResourceCPU), string(corev1.ResourceMemory),
		string(corev1.ResourceEphemeralStorage)}
	tolerationOps     = []string{string(corev1.TolerationOpExists), string(corev1.TolerationOpEqual)}
	tolerationEffects = []string{string(corev1.TaintEffectNoSchedule), string(corev1.TaintEffectPreferNoSchedule),
		string(corev1.TaintEffectNoExecute)}
)

func validateResources(resources *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	limits, requests := path.Child("limits"), path.Child("requests")
	errs := validateQuantities(resources.Limits, limits)
	errs = append(errs, validateQuantities(resources.Requests, requests)...)
	for _, name := range sortedNames(resources.Requests) {
		request := resources.Requests[name]
		if limit, limited := resources.Limits[name]; limited && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(requests.Key(string(name)), request.String(),
				fmt.Sprintf("must be less than or equal to the limit of %s", limit.String())))
		}
	}
	if len(resources.Claims) > 0 {
		errs = append(errs, field.Forbidden(path.Child("claims"), "resource claims are not supported"))
	}
	return errs
}

func validateQuantities(quantities corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedNames(quantities) {
		quantity := quantities[name]
		switch key := path.Key(string(name)); {
		case !slices.Contains(resourceNames, string(name)):
			errs = append(errs, field.NotSupported(key, name, resourceNames))
		case quantity.Sign() < 0:
			errs = append(errs, field.Invalid(key, quantity.String(), "must be greater than or equal to 0"))
		}
	}
	return errs
}

// The volume of a pod has these limits. A share of the smallest is for git, and for the release
// that is being replaced.
var minSizeLimit, maxSizeLimit = resource.MustParse("64Mi"), resource.MustParse("16Ti")

func validateSizeLimit(limit *resource.Quantity, path *field.Path) field.ErrorList {
	if limit == nil || limit.Cmp(minSizeLimit) >= 0 && limit.Cmp(maxSizeLimit) <= 0 {
		return nil
	}
	return field.ErrorList{
		field.Invalid(path, limit.String(), fmt.Sprintf("must be between %s and %s", minSizeLimit.String(),
			maxSizeLimit.String())),
	}
}

// sortedNames makes the order of errors deterministic.
func sortedNames(quantities corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(quantities))
	for name := range quantities {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func validateTolerations(tolerations []corev1.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range tolerations {
		errs = append(errs, validateToleration(&tolerations[i], path.Index(i))...)
	}
	return errs
}

func validateToleration(toleration *corev1.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if toleration.Key != "" {
		errs = append(errs, metav1validation.ValidateLabelName(toleration.Key, path.Child("key"))...)
	} else if toleration.Operator != corev1.TolerationOpExists {
		errs = append(errs, field.Invalid(path.Child("operator"), toleration.Operator, "must be Exists when there is no key"))
	}
	switch toleration.Operator {
	case corev1.TolerationOpExists:
		if toleration.Value != "" {
			errs = append(
				errs, field.Invalid(path.Child("value"), toleration.Value, "must be empty when the operator is Exists"),
			)
		}
	case corev1.TolerationOpEqual, "":
		for _, msg := range utilvalidation.IsValidLabelValue(toleration.Value) {
			errs = append(errs, field.Invalid(path.Child("value"), toleration.Value, msg))
		}
	default:
		errs = append(errs, field.NotSupported(path.Child("operator"), toleration.Operator, tolerationOps))
	}
	if toleration.Effect != "" && !slices.Contains(tolerationEffects, string(toleration.Effect)) {
		errs = append(errs, field.NotSupported(path.Child("effect"), toleration.Effect, tolerationEffects))
	}
	if toleration.TolerationSeconds != nil && toleration.Effect != corev1.TaintEffectNoExecute {
		errs = append(
			errs, field.Invalid(path.Child("effect"), toleration.Effect, "must be NoExecute when tolerationSeconds is set"),
		)
	}
	return errs
}
