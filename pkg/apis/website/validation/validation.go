// Package validation contains the rules for Websites of all versions that the
// markers on the types of v1beta1 cannot express. Each rule is in one of the two
// places only, so that an error is reported once.
package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// ValidateWebsite checks a new Website.
func ValidateWebsite(w *website.Website) field.ErrorList {
	metadata := field.NewPath("metadata")
	// The name becomes a label value of every child, so it is a label and not a subdomain.
	errs := apivalidation.ValidateObjectMeta(&w.ObjectMeta, true, apivalidation.NameIsDNSLabel, metadata)
	errs = append(errs, validateAnnotations(w.Annotations, metadata.Child("annotations"))...)
	errs = append(errs, validateObjectSize(w, nil)...)
	errs = append(errs, validateNoPreviews(w, field.NewPath("spec", "previews"))...)
	errs = append(errs, validateDeploymentName(w, field.NewPath("spec", "deploymentName"))...)
	return append(errs, validateSpec(&w.Spec, nil, field.NewPath("spec"))...)
}

// ValidateWebsiteUpdate checks a change of a Website's metadata and spec.
// Unchanged fields are not checked, so that an object stored under older rules
// can still be updated.
func ValidateWebsiteUpdate(updated, old *website.Website) field.ErrorList {
	metadata := field.NewPath("metadata")
	errs := apivalidation.ValidateObjectMetaUpdate(&updated.ObjectMeta, &old.ObjectMeta, metadata)
	value := updated.Annotations[website.AnnotationCarriedFields]
	if stored, wasPresent := old.Annotations[website.AnnotationCarriedFields]; !wasPresent || value != stored {
		errs = append(errs, validateAnnotations(updated.Annotations, metadata.Child("annotations"))...)
	}
	errs = append(errs, validateObjectSize(updated, old)...)
	if old.Spec.Previews == nil || website.PreviewOwner(old) == nil {
		errs = append(errs, validateNoPreviews(updated, field.NewPath("spec", "previews"))...)
	}
	return append(errs, validateSpec(&updated.Spec, &old.Spec, field.NewPath("spec"))...)
}

// ValidateWebsiteStatusUpdate checks a change of a Website's status.
func ValidateWebsiteStatusUpdate(updated, old *website.Website) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&updated.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	return append(errs, validateStatus(&updated.Status, &old.Status, field.NewPath("status"))...)
}

// validateAnnotations rejects the annotation of v1alpha1. Conversion from that
// version removes it, so here it comes from a request in another version, which
// would ignore its fields.
func validateAnnotations(annotations map[string]string, path *field.Path) field.ErrorList {
	if _, present := annotations[website.AnnotationCarriedFields]; !present {
		return nil
	}
	return field.ErrorList{field.Forbidden(path.Key(website.AnnotationCarriedFields),
		"only supported in v1alpha1: set the fields that it contains instead")}
}

// validateSpec checks the fields that differ from old, which is nil on creation.
func validateSpec(spec, old *v1beta1.WebsiteSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	creating := old == nil
	if creating || !apiequality.Semantic.DeepEqual(spec, old) {
		errs = append(errs, validateSize(spec, old, path)...)
	}
	if creating {
		old = &v1beta1.WebsiteSpec{}
	}
	check := func(value, previous any, validate func() field.ErrorList) {
		if creating || !apiequality.Semantic.DeepEqual(value, previous) {
			errs = append(errs, validate()...)
		}
	}

	source := path.Child("source")
	if spec.Source.Git != nil {
		errs = append(errs, validateGitSource(spec.Source.Git, old.Source.Git, source.Child("git"))...)
	}
	check(spec.Source.Path, old.Source.Path, func() field.ErrorList {
		return validatePath(spec.Source.Path, source.Child("path"))
	})
	check(spec.Pin, old.Pin, func() field.ErrorList {
		return validateOptionalCommit(spec.PinnedCommit(), path.Child("pin", "commit"))
	})
	switch {
	case spec.DeploymentName == "":
		// v1beta1 has a default, v1alpha1 has none.
		errs = append(errs, field.Required(path.Child("deploymentName"), "the name of the Deployment"))
	case !creating:
		// The stored value is valid, so a changed value needs no other check.
		errs = append(errs, apivalidation.ValidateImmutableField(spec.DeploymentName, old.DeploymentName,
			path.Child("deploymentName"))...)
	}
	errs = append(errs, validateServing(&spec.Serving, &old.Serving, path.Child("serving"))...)
	check(spec.Service, old.Service, func() field.ErrorList {
		return validateService(&spec.Service, &old.Service, path.Child("service"))
	})
	check(hostUseOf(spec), hostUseOf(old), func() field.ErrorList {
		return validateHostUse(hostUseOf(spec), path)
	})
	check(spec.Previews, old.Previews, func() field.ErrorList {
		return validatePreviews(spec.Previews, path.Child("previews"))
	})
	check(spec.Resources.Server, old.Resources.Server, func() field.ErrorList {
		return validateResources(&spec.Resources.Server, path.Child("resources", "server"))
	})
	check(spec.Resources.Sync, old.Resources.Sync, func() field.ErrorList {
		return validateResources(&spec.Resources.Sync, path.Child("resources", "sync"))
	})
	check(spec.Storage, old.Storage, func() field.ErrorList {
		return validateSizeLimit(spec.Storage.SizeLimit, path.Child("storage", "sizeLimit"))
	})
	check(spec.Scheduling.NodeSelector, old.Scheduling.NodeSelector, func() field.ErrorList {
		return metav1validation.ValidateLabels(spec.Scheduling.NodeSelector, path.Child("scheduling", "nodeSelector"))
	})
	check(spec.Scheduling.Tolerations, old.Scheduling.Tolerations, func() field.ErrorList {
		return validateTolerations(spec.Scheduling.Tolerations, path.Child("scheduling", "tolerations"))
	})
	return errs
}

// validateDeploymentName checks the name of a new Deployment. The name of the Website is its default, and the error
// then has the path of the field that the user has set.
func validateDeploymentName(w *website.Website, path *field.Path) field.ErrorList {
	name := w.Spec.DeploymentName
	// The limit of 63 characters would only repeat the type's limit.
	if name == "" || len(name) > utilvalidation.DNS1035LabelMaxLength {
		return nil
	}
	hint := ""
	if name == w.Name && len(utilvalidation.IsDNS1123Label(name)) == 0 {
		path, hint = field.NewPath("metadata", "name"), "; set spec.deploymentName to another name to keep this one"
	}
	var errs field.ErrorList
	// The name of the Service, a DNS-1035 label, begins with this name.
	for _, msg := range utilvalidation.IsDNS1035Label(name) {
		errs = append(errs, field.Invalid(path, name, msg+hint))
	}
	return errs
}

// validateStatus checks the fields that differ from old.
func validateStatus(status, old *v1beta1.WebsiteStatus, path *field.Path) field.ErrorList {
	errs := validateStatusSize(status, old, path)
	if status.Commit != old.Commit {
		errs = append(errs, validateOptionalCommit(status.Commit, path.Child("commit"))...)
	}
	if status.Selector != old.Selector {
		if _, err := labels.Parse(status.Selector); err != nil {
			errs = append(errs, field.Invalid(path.Child("selector"), status.Selector, err.Error()))
		}
	}
	if !apiequality.Semantic.DeepEqual(status.URLs, old.URLs) {
		for i, url := range status.URLs {
			errs = append(errs, validateURL(url, "must be an https:// or http:// URL", path.Child("urls").Index(i))...)
		}
	}
	if !apiequality.Semantic.DeepEqual(status.Conditions, old.Conditions) {
		errs = append(errs, metav1validation.ValidateConditions(status.Conditions, path.Child("conditions"))...)
		errs = append(errs, validateMessages(status.Conditions, old.Conditions, path.Child("conditions"))...)
	}
	if !apiequality.Semantic.DeepEqual(status.Sync, old.Sync) {
		errs = append(errs, validateSync(status.Sync, old.Sync, path.Child("sync"))...)
	}
	if !apiequality.Semantic.DeepEqual(status.Hosts, old.Hosts) {
		errs = append(errs, validateHostStatuses(status.Hosts, old.Hosts, path.Child("hosts"))...)
	}
	if !apiequality.Semantic.DeepEqual(status.Previews, old.Previews) {
		errs = append(errs, validatePreviewStatuses(status.Previews, path.Child("previews"))...)
	}
	if !apiequality.Semantic.DeepEqual(status.History, old.History) {
		errs = append(errs, validateHistory(status.History, path.Child("history"))...)
	}
	return errs
}
