package validation

import (
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// ValidateCommit checks the full name of a commit that a request contains.
func ValidateCommit(commit string, path *field.Path) field.ErrorList {
	return validateCommit(commit, path)
}

// validateSync checks the last request to fetch the repository at once.
func validateSync(sync *website.WebsiteSyncStatus, path *field.Path) field.ErrorList {
	if sync == nil {
		return nil
	}
	errs := validateTime(sync.RequestedTime.Time.IsZero(), path.Child("requestedTime"))
	errs = append(errs, validateOptionalCommit(sync.Commit, path.Child("commit"))...)
	if sync.StartedTime != nil {
		errs = append(errs, validateNotAfter(*sync.StartedTime, sync.RequestedTime, path.Child("startedTime"))...)
	}
	if completed := sync.Completed; completed != nil {
		path := path.Child("completed")
		errs = append(errs, validateTime(completed.RequestedTime.Time.IsZero(), path.Child("requestedTime"))...)
		errs = append(errs, validateNotAfter(completed.RequestedTime, sync.RequestedTime, path.Child("requestedTime"))...)
		errs = append(errs, validateTime(completed.CompletedTime.Time.IsZero(), path.Child("completedTime"))...)
		errs = append(errs, validateOptionalCommit(completed.Commit, path.Child("commit"))...)
	}
	return errs
}

// validateNotAfter checks that a request that was started or completed was made.
func validateNotAfter(t, requested metav1.MicroTime, path *field.Path) field.ErrorList {
	if t.Time.After(requested.Time) {
		return field.ErrorList{field.Invalid(path, t.UTC().Format(metav1.RFC3339Micro), "must not be after the requestedTime of the last request")}
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
func validateHistory(history []website.WebsiteRelease, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range history {
		release, path := &history[i], path.Index(i)
		errs = append(errs, validateCommit(release.Commit, path.Child("commit"))...)
		errs = append(errs, validatePrintable(release.Subject, path.Child("subject"))...)
		errs = append(errs, validatePrintable(release.Author, path.Child("author"))...)
		errs = append(errs, validateTime(release.PublishedTime.IsZero(), path.Child("publishedTime"))...)
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
