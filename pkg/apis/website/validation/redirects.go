package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// maxPrefixRedirects is the number of redirects from all paths with a prefix. It
// bounds the size of nginx's configuration.
const maxPrefixRedirects = 100

// defaultStatusCode is the default of a redirect's status code.
const defaultStatusCode = 301

var statusCodes = []int32{defaultStatusCode, 302, 303, 307, 308}

var (
	// placeholder is a segment that other servers replace.
	placeholder = regexp.MustCompile(`/:[A-Za-z][A-Za-z0-9_]*`)
	// splat stands for what '*' matches.
	splat = regexp.MustCompile(`:splat([A-Za-z0-9_]?)`)
	// authority is the beginning of a URL up to its path, query string or fragment.
	authority = regexp.MustCompile(`^[A-Za-z]+://[^/?#]*`)
)

// validateRedirects checks the redirects that are not in old, and that no two
// are from the same path.
func validateRedirects(redirects, old []website.Redirect, path *field.Path) field.ErrorList {
	if slices.Equal(redirects, old) {
		return nil
	}
	var errs field.ErrorList
	kept := sets.New(old...)
	seen := sets.New[string]()
	if n := prefixes(redirects); n > maxPrefixRedirects && n > prefixes(old) {
		errs = append(
			errs, field.Invalid(path, n, fmt.Sprintf("must have at most %d redirects from a path that ends in '/*'",
				maxPrefixRedirects)),
		)
	}
	for i, redirect := range redirects {
		at := path.Index(i)
		if redirect.From != "" && seen.Has(redirect.From) {
			errs = append(errs, field.Duplicate(at.Child("from"), redirect.From))
			continue
		}
		seen.Insert(redirect.From)
		if !kept.Has(redirect) {
			errs = append(errs, validateRedirect(&redirect, at)...)
		}
	}
	return errs
}

func validateRedirect(redirect *website.Redirect, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	// The type declares the required fields, so nothing is reported for empty ones.
	if redirect.From != "" {
		errs = append(errs, validateURLPath(redirect.From, path.Child("from"))...)
		errs = append(errs, validatePattern(redirect.From, path.Child("from"))...)
		errs = append(errs, validateSplat(redirect, path.Child("to"))...)
	}
	switch to := path.Child("to"); {
	case redirect.To == "":
	case redirect.To == redirect.From:
		errs = append(errs, field.Invalid(to, withoutCredentials(redirect.To), "must not redirect to itself"))
	case strings.HasPrefix(redirect.To, "/"):
		errs = append(errs, validateLocalTarget(redirect.To, to)...)
	default:
		errs = append(errs, validateURL(redirect.To, "must be an absolute path, or an https:// or http:// URL", to)...)
	}
	if !slices.Contains(statusCodes, redirect.StatusCode) {
		errs = append(errs, field.NotSupported(path.Child("statusCode"), redirect.StatusCode, statusCodeNames()))
	}
	return errs
}

func statusCodeNames() []string {
	var names []string
	for _, code := range statusCodes {
		names = append(names, fmt.Sprint(code))
	}
	return names
}

// prefixes counts the redirects from all paths with a prefix.
func prefixes(redirects []website.Redirect) int {
	n := 0
	for _, redirect := range redirects {
		if strings.HasSuffix(redirect.From, "/*") {
			n++
		}
	}
	return n
}

// validatePattern rejects what redirect files of other servers support and would be
// taken literally here.
func validatePattern(from string, path *field.Path) field.ErrorList {
	invalid := func(msg string) field.ErrorList { return field.ErrorList{field.Invalid(path, from, msg)} }
	switch prefix, isPrefix := strings.CutSuffix(from, "/*"); {
	case strings.Contains(prefix, "*"):
		return invalid("must contain '*' only as the last segment")
	case placeholder.MatchString(from):
		return invalid("must not contain a placeholder: only '*' as the last segment is supported")
	case isPrefix && strings.HasPrefix(from, "/.error/"):
		return invalid("must not begin with '/.error/', which is reserved")
	}
	return nil
}

// validateSplat checks the use of ":splat" in the target, and that the target of
// a prefix does not have the prefix, which would redirect without end.
func validateSplat(redirect *website.Redirect, path *field.Path) field.ErrorList {
	to := redirect.To
	invalid := func(msg string) field.ErrorList {
		return field.ErrorList{field.Invalid(path, withoutCredentials(to), msg)}
	}
	host := authority.FindString(to)
	local := strings.TrimPrefix(to, host)
	for _, name := range placeholder.FindAllString(local, -1) {
		if name != "/:splat" {
			return invalid("must not contain a placeholder other than ':splat'")
		}
	}
	prefix, isPrefix := strings.CutSuffix(redirect.From, "*")
	isPrefix = isPrefix && strings.HasSuffix(prefix, "/")
	for _, match := range splat.FindAllStringSubmatch(to, -1) {
		switch {
		case match[1] != "":
			return invalid("must not contain a letter, digit or '_' after ':splat'")
		case !isPrefix:
			return invalid("must not contain ':splat' unless 'from' ends in '/*'")
		}
	}
	if splat.MatchString(host) {
		return invalid("must not contain ':splat' in the host")
	}
	target, _, _ := strings.Cut(local, "?")
	target, _, _ = strings.Cut(target, "#")
	if isPrefix && host == "" && strings.HasPrefix(target+"/", prefix) {
		return invalid("must not be a path that 'from' matches, which redirects without end")
	}
	return nil
}
