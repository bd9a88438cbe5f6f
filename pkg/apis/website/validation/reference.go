package validation

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/gitnames"
)

// commitName is a full SHA-1 or SHA-256.
var commitName = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// fullRefPrefix begins the full name of every reference.
const fullRefPrefix = "refs/"

// validateReference checks the members of a reference. The type declares that at
// most one may be set.
func validateReference(ref *v1beta1.GitReference, path *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	var errs field.ErrorList
	if ref.Branch != "" {
		errs = append(errs, validateShortName(ref.Branch, "refs/heads/", path.Child("branch"))...)
	}
	if ref.Tag != "" {
		errs = append(errs, validateShortName(ref.Tag, "refs/tags/", path.Child("tag"))...)
	}
	if ref.Commit != "" {
		errs = append(errs, validateCommit(ref.Commit, path.Child("commit"))...)
	}
	if ref.Name != "" {
		name := path.Child("name")
		if !strings.HasPrefix(ref.Name, fullRefPrefix) {
			errs = append(errs, field.Invalid(name, ref.Name, fmt.Sprintf("must begin with %q", fullRefPrefix)))
		} else {
			errs = append(errs, validateRefName(ref.Name, name)...)
		}
	}
	return errs
}

// validateShortName checks the name of a branch or tag, which is passed to git with its prefix.
func validateShortName(name, prefix string, path *field.Path) field.ErrorList {
	if strings.HasPrefix(name, prefix) {
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf("must not begin with %q: write the rest only", prefix))}
	}
	return validateRefName(name, path)
}

// validateRefName checks the name of a reference, which is an argument of git.
func validateRefName(name string, path *field.Path) field.ErrorList {
	if err := gitnames.CheckReference(name); err != nil {
		return field.ErrorList{field.Invalid(path, name, err.Error())}
	}
	return nil
}

// validateOptionalCommit is like validateCommit, for fields that may be empty.
func validateOptionalCommit(commit string, path *field.Path) field.ErrorList {
	if commit == "" {
		return nil
	}
	return validateCommit(commit, path)
}

func validateCommit(commit string, path *field.Path) field.ErrorList {
	if commitName.MatchString(commit) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, commit,
		"must be the full name of a commit: 40 or 64 hexadecimal digits in lower case")}
}

// validatePath checks a directory of a repository, which is written into nginx's
// configuration.
func validatePath(dir string, path *field.Path) field.ErrorList {
	if dir == "" {
		return nil
	}
	if err := gitnames.CheckPath(dir); err != nil {
		return field.ErrorList{field.Invalid(path, dir, err.Error())}
	}
	return nil
}
