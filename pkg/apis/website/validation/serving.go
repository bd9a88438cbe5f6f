package validation

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/responseheaders"
	"github.com/kubesites/website-apiserver/pkg/urlpaths"
)

// These fields are written into nginx's configuration, so only characters
// without a meaning there are allowed: none that ends a directive or a string,
// and no '$', which begins a variable.
var (
	// fileName is a name without a path.
	fileName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	// redirectTarget are the remaining characters of RFC 3986, section 2.
	redirectTarget = regexp.MustCompile(`^[A-Za-z0-9._~:/?#\[\]@!&()*+,=%-]+$`)
	// headerName is a token of RFC 9110 in its usual characters.
	headerName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$`)
	// headerValue is printable ASCII without '$' and '\'.
	headerValue = regexp.MustCompile(`^[ !"#%-\[\]-~]*$`)
)

// rejectedHeaders, in lower case, would break the connection or its framing, or
// contradict headers that nginx sets.
var rejectedHeaders = sets.New(
	"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
	"transfer-encoding", "upgrade",
	"content-length", "content-encoding", "content-range", "content-type",
	"accept-ranges", "allow", "date", "etag", "last-modified", "location", "server", "website-commit",
)

// validateServing checks the fields that differ from old.
func validateServing(serving, old *v1beta1.WebsiteServing, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if serving.Index != old.Index && !fileName.MatchString(serving.Index) && serving.Index != "" {
		errs = append(errs, field.Invalid(path.Child("index"), serving.Index,
			"must be the name of a file: letters, digits and the characters . _ -, not beginning with '.' or '-'"))
	}
	if serving.NotFoundPath != old.NotFoundPath && serving.NotFoundPath != "" {
		errs = append(errs, validateNotFoundPath(serving.NotFoundPath, path.Child("notFoundPath"))...)
	}
	errs = append(errs, validateRedirects(serving.Redirects, old.Redirects, path.Child("redirects"))...)
	errs = append(errs, validateHeaders(serving.Headers, old.Headers, path.Child("headers"))...)
	errs = append(errs, validateTypes(serving.Types, old.Types, path.Child("types"))...)
	if serving.Charset != old.Charset && !isCharset(serving.Charset) && serving.Charset != v1beta1.CharsetNone &&
		len(serving.Charset) <= maxCharset {
		errs = append(errs, field.NotSupported(path.Child("charset"), serving.Charset, append(charsets, v1beta1.CharsetNone)))
	}
	return errs
}

// maxPath is the maximum length of a path, in characters, that its type declares. Longer ones are
// rejected by the type only.
const maxPath = 1024

func isTooLong(path string) bool { return utf8.RuneCountInString(path) > maxPath }

func validateNotFoundPath(p string, path *field.Path) field.ErrorList {
	decoded, err := urlpaths.Decode(p)
	switch {
	case isTooLong(p):
		return nil
	case err != nil:
		return field.ErrorList{field.Invalid(path, p, err.Error())}
	case strings.Contains(decoded, "?"):
		// nginx would take it for the beginning of a query string.
		return field.ErrorList{field.Invalid(path, p, "must not contain '?', also not where encoded")}
	}
	return nil
}

const targetCharacters = "must not contain white space, control characters, quotes or other characters that are not " +
	"legal in a URL, nor '$' or ';'"

func validateLocalTarget(target string, path *field.Path) field.ErrorList {
	invalid := func(msg string) field.ErrorList { return field.ErrorList{field.Invalid(path, target, msg)} }
	if strings.HasPrefix(target, "//") {
		return field.ErrorList{field.Invalid(path, withoutCredentials(target),
			"must not begin with '//', which browsers read as another host")}
	}
	if !redirectTarget.MatchString(target) {
		return invalid(targetCharacters)
	}
	if _, err := url.Parse(target); err != nil {
		return invalid(parseFailure(target, err))
	}
	return nil
}

// validateURL checks an absolute http(s) URL; forms describes all valid forms of
// the field.
func validateURL(target, forms string, path *field.Path) field.ErrorList {
	invalid := func(msg string) field.ErrorList {
		return field.ErrorList{field.Invalid(path, withoutCredentials(target), msg)}
	}
	if !strings.HasPrefix(target, "https://") && !strings.HasPrefix(target, "http://") {
		return invalid(forms)
	}
	if !redirectTarget.MatchString(target) {
		return invalid(targetCharacters)
	}
	parsed, err := url.Parse(target)
	if err != nil {
		return invalid(parseFailure(target, err))
	}
	if parsed.User != nil {
		return invalid("must not contain a user name or password")
	}
	if !hostname.MatchString(parsed.Hostname()) {
		return invalid("must name a host")
	}
	return nil
}

// validateHeaders checks the headers that are not in old, and that no two have
// the same path and the same name, ignoring case.
func validateHeaders(headers, old []v1beta1.ResponseHeader, path *field.Path) field.ErrorList {
	if slices.Equal(headers, old) {
		return nil
	}
	var errs field.ErrorList
	kept := sets.New(old...)
	type rule struct {
		paths urlpaths.Pattern
		name  string
	}
	seen := sets.New[rule]()
	for i, header := range headers {
		at := path.Index(i)
		paths, err := urlpaths.Parse(header.Path)
		if err != nil {
			paths.Path = header.Path
		}
		key := rule{paths, strings.ToLower(header.Name)}
		if key.name != "" && seen.Has(key) {
			errs = append(errs, field.Duplicate(at.Child("name"), header.Name))
			continue
		}
		seen.Insert(key)
		if !kept.Has(header) {
			errs = append(errs, validateHeader(&header, at)...)
		}
	}
	return errs
}

func validateHeader(header *v1beta1.ResponseHeader, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if header.Path != "" && !isTooLong(header.Path) {
		switch paths, err := urlpaths.Parse(header.Path); {
		case err != nil:
			errs = append(errs, field.Invalid(path.Child("path"), header.Path, err.Error()))
		case !paths.Prefix && strings.HasSuffix(paths.Path, "/") && responseheaders.IsForCaches(header.Name):
			// It would never match.
			errs = append(errs, field.Invalid(path.Child("path"), header.Path, fmt.Sprintf(
				"must be the path of a file for the header %s, such as %sindex.html, or end in '/*'", header.Name, header.Path)))
		}
	}
	switch name := path.Child("name"); {
	case header.Name == "":
	case !headerName.MatchString(header.Name):
		errs = append(errs, field.Invalid(name, header.Name,
			"must consist of letters, digits and '-', and begin and end with a letter or digit"))
	case rejectedHeaders.Has(strings.ToLower(header.Name)):
		errs = append(errs, field.Invalid(name, header.Name, "must not be a connection header, or a header that nginx sets"))
	}
	switch value := path.Child("value"); {
	case !headerValue.MatchString(header.Value):
		errs = append(errs, field.Invalid(value, header.Value,
			`must consist of printable ASCII characters other than '$' and '\'`))
	case strings.TrimSpace(header.Value) != header.Value:
		errs = append(errs, field.Invalid(value, header.Value, "must not begin or end with a space"))
	}
	return errs
}
