package validation

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/branches"
	"github.com/kubesites/website-apiserver/pkg/gitnames"
)

// validatePreviews checks the patterns of branches.
func validatePreviews(previews *v1beta1.WebsitePreviews, path *field.Path) field.ErrorList {
	if previews == nil {
		return nil
	}
	errs := validateLabels(previews.Domain, path.Child("domain"))
	seen := sets.New[string]()
	for i, pattern := range previews.Branches {
		path := path.Child("branches").Index(i)
		if pattern == "" {
			errs = append(errs, field.Required(path, `a pattern, such as "feature/*"`))
		} else if err := gitnames.CheckPattern(pattern); err != nil {
			errs = append(errs, field.Invalid(path, pattern, err.Error()))
		} else if seen.Has(pattern) {
			errs = append(errs, field.Duplicate(path, pattern))
		}
		seen.Insert(pattern)
	}
	return errs
}

// validateNoPreviews rejects previews of a preview.
func validateNoPreviews(w *website.Website, path *field.Path) field.ErrorList {
	if w.Spec.Previews == nil || website.PreviewOwner(w) == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, "must not be set for a preview: a Website controls this one")}
}

// validatePreviewStatuses checks the observed states of branches.
func validatePreviewStatuses(previews []v1beta1.WebsitePreviewStatus, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range previews {
		preview, path := &previews[i], path.Index(i)
		if preview.Branch != "" && !branches.IsValid(preview.Branch) {
			errs = append(errs, field.Invalid(path.Child("branch"), preview.Branch,
				"must be the name of a branch that spec.source.git.ref.branch may have"))
		}
		errs = append(errs, validateOptionalCommit(preview.Commit, path.Child("commit"))...)
		errs = append(errs, validateTime(preview.Commit != "" && preview.LastCommitTime.IsZero(),
			path.Child("lastCommitTime"))...)
	}
	return errs
}
