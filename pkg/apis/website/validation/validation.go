// Package validation holds the rules that every Website must meet, whichever
// version it was sent in.
package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// maxDeploymentNameLength leaves room for the longest suffix of a child's name,
// "-npsvc", within the 63 characters of a Service's name.
const maxDeploymentNameLength = 57

// ValidateWebsite checks a Website that is to be created.
func ValidateWebsite(w *website.Website) field.ErrorList {
	// The name becomes a label value of every child, hence a label and not a subdomain.
	errs := apivalidation.ValidateObjectMeta(&w.ObjectMeta, true, apivalidation.NameIsDNSLabel, field.NewPath("metadata"))
	return append(errs, validateSpec(&w.Spec, field.NewPath("spec"))...)
}

// ValidateWebsiteUpdate checks a change of a Website's metadata and spec.
func ValidateWebsiteUpdate(updated, old *website.Website) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&updated.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	spec := field.NewPath("spec")
	// A missing or malformed name is reported as such, not as a change.
	if nameErrs := validateDeploymentName(updated.Spec.DeploymentName, spec.Child("deploymentName")); len(nameErrs) == 0 {
		errs = append(errs, apivalidation.ValidateImmutableField(updated.Spec.DeploymentName, old.Spec.DeploymentName, spec.Child("deploymentName"))...)
	}
	return append(errs, validateSpec(&updated.Spec, spec)...)
}

// ValidateWebsiteStatusUpdate checks a change of a Website's status.
func ValidateWebsiteStatusUpdate(updated, old *website.Website) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&updated.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	status := field.NewPath("status")
	return append(errs, apivalidation.ValidateNonnegativeField(int64(updated.Status.AvailableReplicas), status.Child("availableReplicas"))...)
}

func validateSpec(spec *website.WebsiteSpec, path *field.Path) field.ErrorList {
	errs := validateGitRepo(spec.GitRepo, path.Child("gitRepo"))
	errs = append(errs, validateDeploymentName(spec.DeploymentName, path.Child("deploymentName"))...)
	// Unset is legal here because defaults belong to the served versions.
	if spec.Replicas != nil {
		errs = append(errs, apivalidation.ValidateNonnegativeField(int64(*spec.Replicas), path.Child("replicas"))...)
	}
	return errs
}

func validateDeploymentName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "the name of the Deployment that serves the site")}
	}
	var errs field.ErrorList
	if len(name) > maxDeploymentNameLength {
		errs = append(errs, field.TooLong(path, name, maxDeploymentNameLength))
	}
	// A DNS-1035 label, because the name is the stem of a Service's name. Its
	// own limit of 63 characters would only repeat the one above.
	if len(name) <= utilvalidation.DNS1035LabelMaxLength {
		for _, msg := range utilvalidation.IsDNS1035Label(name) {
			errs = append(errs, field.Invalid(path, name, msg))
		}
	}
	return errs
}
