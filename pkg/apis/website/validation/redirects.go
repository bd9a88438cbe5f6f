package validation

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/urlpaths"
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
	// splat is replaced by the part that '*' matches.
	splat = regexp.MustCompile(`:splat([A-Za-z0-9_]?)`)
	// authority is the beginning of a URL up to its path, query string or fragment.
	authority = regexp.MustCompile(`^[A-Za-z]+://[^/?#]*`)
)

// validateRedirects checks the redirects that are not in old, and that no two
// are from the same path.
func validateRedirects(redirects, old []v1beta1.Redirect, path *field.Path) field.ErrorList {
	if slices.Equal(redirects, old) {
		return nil
	}
	var errs field.ErrorList
	kept := sets.New(old...)
	seen := sets.New[urlpaths.Pattern]()
	if n := prefixes(redirects); n > maxPrefixRedirects && n > prefixes(old) {
		errs = append(
			errs, field.Invalid(path, n, fmt.Sprintf("must have at most %d redirects from a path that ends in '/*'",
				maxPrefixRedirects)),
		)
	}
	for i, redirect := range redirects {
		at := path.Index(i)
		if from, err := urlpaths.Parse(redirect.From); err == nil {
			if seen.Has(from) {
				errs = append(errs, field.Duplicate(at.Child("from"), redirect.From))
				continue
			}
			seen.Insert(from)
		}
		if !kept.Has(redirect) {
			errs = append(errs, validateRedirect(&redirect, at)...)
		}
	}
	return errs
}

func validateRedirect(redirect *v1beta1.Redirect, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	from, err := urlpaths.Parse(redirect.From)
	// The type declares the required fields, so nothing is reported for empty ones.
	switch at := path.Child("from"); {
	case redirect.From == "", isTooLong(redirect.From):
	case err != nil:
		errs = append(errs, field.Invalid(at, redirect.From, err.Error()))
	case from.Prefix && strings.HasPrefix(from.Path, "/.error/"):
		errs = append(errs, field.Invalid(at, redirect.From, "must not begin with '/.error/', which is reserved"))
	}
	if redirect.From != "" {
		errs = append(errs, validateSplat(redirect.To, from, path.Child("to"))...)
	}
	switch to := path.Child("to"); {
	case redirect.To == "":
	case err == nil && !from.Prefix && decoded(redirect.To) == from.Path:
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

// decoded returns a target in the form in which paths are compared.
func decoded(target string) string {
	if path, err := url.PathUnescape(target); err == nil {
		return path
	}
	return target
}

func statusCodeNames() []string {
	var names []string
	for _, code := range statusCodes {
		names = append(names, fmt.Sprint(code))
	}
	return names
}

// prefixes counts the redirects from all paths with a prefix.
func prefixes(redirects []v1beta1.Redirect) int {
	n := 0
	for _, redirect := range redirects {
		if strings.HasSuffix(redirect.From, "/*") {
			n++
		}
	}
	return n
}

// validateSplat checks the use of ":splat" in the target, and that the target of
// a prefix does not have the prefix, which would redirect without end.
func validateSplat(to string, from urlpaths.Pattern, path *field.Path) field.ErrorList {
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
	for _, match := range splat.FindAllStringSubmatch(to, -1) {
		switch {
		case match[1] != "":
			return invalid("must not contain a letter, digit or '_' after ':splat'")
		case !from.Prefix:
			return invalid("must not contain ':splat' unless 'from' ends in '/*'")
		}
	}
	if splat.MatchString(host) {
		return invalid("must not contain ':splat' in the host")
	}
	target, _, _ := strings.Cut(local, "?")
	target, _, _ = strings.Cut(target, "#")
	if from.Prefix && host == "" && strings.HasPrefix(decoded(target)+"/", from.Path) {
		return invalid("must not be a path that 'from' matches, which redirects without end")
	}
	return nil
}
