package validation

import (
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// ValidateCommit checks the full name of a commit that a request contains.
func ValidateCommit(commit string, path *field.Path) field.ErrorList {
	return validateCommit(commit, path)
}

// ValidateRollback checks the body of a request to roll back.
func ValidateRollback(rollback *website.WebsiteRollback) field.ErrorList {
	if rollback.Commit == nil {
		return nil
	}
	return validateCommit(*rollback.Commit, field.NewPath("commit"))
}

// validateSync checks the requests to fetch the repository at once. With decreasing
// ids, a client would take a later request for its own.
func validateSync(sync, old *v1beta1.WebsiteSyncStatus, path *field.Path) field.ErrorList {
	if sync == nil {
		return nil
	}
	if old == nil {
		old = &v1beta1.WebsiteSyncStatus{}
	}
	last := &sync.LastRequest
	errs := validateTime(last.Time.IsZero(), path.Child("lastRequest", "time"))
	errs = append(errs, validateOptionalCommit(last.Commit, path.Child("lastRequest", "commit"))...)
	errs = append(errs, validateID(sync.StartedID, old.StartedID, last.ID, path.Child("startedID"))...)
	completed, path := sync.LastCompleted, path.Child("lastCompleted")
	if completed == nil {
		if old.LastCompleted != nil {
			errs = append(errs, field.Forbidden(path, "may not be removed"))
		}
		return errs
	}
	least := int64(0)
	if old.LastCompleted != nil {
		least = old.LastCompleted.ID
	}
	errs = append(errs, validateID(completed.ID, least, last.ID, path.Child("id"))...)
	errs = append(errs, validateTime(completed.Time.IsZero(), path.Child("time"))...)
	return append(errs, validateOptionalCommit(completed.Commit, path.Child("commit"))...)
}

// validateID checks the id of a request that was started or completed.
func validateID(id, least, last int64, path *field.Path) field.ErrorList {
	switch {
	case id < least:
		return field.ErrorList{field.Invalid(path, id, "may not decrease")}
	case id > last:
		return field.ErrorList{field.Invalid(path, id, "must not be greater than lastRequest.id")}
	}
	return nil
}

func validateTime(zero bool, path *field.Path) field.ErrorList {
	if zero {
		return field.ErrorList{field.Required(path, "")}
	}
	return nil
}

// validateHistory checks the published commits. Terminals print their texts, which
// users of the repository choose.
func validateHistory(history []v1beta1.WebsiteRelease, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range history {
		release, path := &history[i], path.Index(i)
		errs = append(errs, validateCommit(release.Commit, path.Child("commit"))...)
		errs = append(errs, validatePrintable(release.Subject, path.Child("subject"))...)
		errs = append(errs, validatePrintable(release.Author, path.Child("author"))...)
		errs = append(errs, validateTime(release.PublishedTime.IsZero(), path.Child("publishedTime"))...)
		if observed := release.ObservedTime; observed != nil {
			errs = append(errs, validateTime(observed.IsZero(), path.Child("observedTime"))...)
			if !release.PublishedTime.IsZero() && observed.After(release.PublishedTime.Time) {
				errs = append(errs, field.Invalid(path.Child("observedTime"), observed.UTC().Format(time.RFC3339),
					"must not be after publishedTime"))
			}
		}
	}
	return errs
}

func validatePrintable(text string, path *field.Path) field.ErrorList {
	if !utf8.ValidString(text) {
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, "must be valid UTF-8")}
	}
	for _, character := range text {
		if !unicode.IsPrint(character) {
			return field.ErrorList{field.Invalid(path, text, "must consist of printable characters")}
		}
	}
	return nil
}
