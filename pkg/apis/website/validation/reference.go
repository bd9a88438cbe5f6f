package validation

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

var (
	// refCharacters are those that git allows in a reference and that mean
	// nothing to a shell or to git's revision syntax. Names of branches beyond
	// ASCII are rejected: no component normalizes them.
	refCharacters = regexp.MustCompile(`^[A-Za-z0-9._/@+#=-]+$`)
	// commitName is a full SHA-1 or SHA-256.
	commitName = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
	// pathSegment is part of a path in a repository.
	pathSegment = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
)

// fullRefPrefix begins the full name of every reference.
const fullRefPrefix = "refs/"

// validateReference checks the members of a reference. The type declares that at
// most one may be set.
func validateReference(ref *website.GitReference, path *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	var errs field.ErrorList
	if ref.Branch != "" {
		errs = append(errs, validateRefName(ref.Branch, path.Child("branch"))...)
	}
	if ref.Tag != "" {
		errs = append(errs, validateRefName(ref.Tag, path.Child("tag"))...)
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

// validateRefName applies the rules of git check-ref-format, and rejects names
// that git could interpret as an option.
func validateRefName(name string, path *field.Path) field.ErrorList {
	invalid := func(msg string) field.ErrorList { return field.ErrorList{field.Invalid(path, name, msg)} }
	switch {
	case strings.HasPrefix(name, "-"):
		return invalid("must not begin with '-'")
	case !refCharacters.MatchString(name):
		return invalid("must consist of letters, digits and the characters . _ / @ + # = -")
	case name == "@":
		return invalid("must not be '@', which git takes for HEAD")
	case strings.Contains(name, ".."):
		return invalid("must not contain '..'")
	case strings.HasPrefix(name, "/"), strings.HasSuffix(name, "/"), strings.Contains(name, "//"):
		return invalid("must not begin or end with '/', or contain '//'")
	case strings.HasSuffix(name, "."):
		return invalid("must not end with '.'")
	}
	for segment := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(segment, ".") || strings.HasSuffix(segment, ".lock") {
			return invalid("no part between slashes may begin with '.' or end with '.lock'")
		}
	}
	return nil
}

// validateOptionalCommit is as validateCommit, for fields that may be empty.
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
	return field.ErrorList{field.Invalid(path, commit, "must be the full name of a commit: 40 or 64 hexadecimal digits in lower case")}
}

// validatePath checks a directory of a repository, which is written into nginx's
// configuration and must not lead out of the repository or into its metadata.
func validatePath(dir string, path *field.Path) field.ErrorList {
	if dir == "" {
		return nil
	}
	invalid := func(msg string) field.ErrorList { return field.ErrorList{field.Invalid(path, dir, msg)} }
	if strings.HasPrefix(dir, "/") || strings.HasSuffix(dir, "/") || strings.Contains(dir, "//") {
		return invalid("must be relative, without '/' at its end or '//' in it")
	}
	for segment := range strings.SplitSeq(dir, "/") {
		switch {
		case !pathSegment.MatchString(segment):
			return invalid("must consist of letters, digits and the characters . _ - /")
		case segment == "." || segment == "..":
			return invalid("must not contain the segment '.' or '..'")
		case strings.EqualFold(segment, ".git"):
			return invalid("must not lead into '.git'")
		case strings.HasPrefix(segment, "-"):
			return invalid("no segment may begin with '-'")
		}
	}
	return nil
}
