package resources

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// serving is what a Website says about its files, in nginx's words. Every
// string is quoted already, or consists of characters that need no quotes.
type serving struct {
	// Path is the published directory below the worktree, with a slash in
	// front of it, or empty.
	Path string
	// Index is the file that is served for a directory.
	Index string
	// NotFoundPath is the page for what does not exist.
	NotFoundPath string
	// SinglePage serves the index of the site for what does not exist.
	SinglePage bool
	// Redirects are answered before any file is looked for.
	Redirects []redirect
	// Headers are added to responses.
	Headers []header
}

type redirect struct {
	From, To string
	Code     int32
}

// header is one name with the values it has below different paths.
type header struct {
	// Name is the name of the header.
	Name string
	// Variable carries the value, and is empty where the header is not sent.
	Variable string
	// Values are tried in this order.
	Values []headerValue
}

type headerValue struct {
	// Pattern matches the paths, in the form of nginx's map.
	Pattern string
	Value   string
}

// newServing returns what the template needs. The API server has validated all
// of it, so an error here is the second fence.
func newServing(site *v1beta1.Website) (serving, error) {
	wanted := site.Spec.Serving
	s := serving{SinglePage: wanted.Fallback == v1beta1.FallbackSPA}
	q := quoter{}
	if path := strings.Trim(site.Spec.Source.Path, "/"); path != "" {
		s.Path = q.bare("spec.source.path", "/"+path)
		if slices.Contains(strings.Split(path, "/"), "..") {
			return serving{}, fmt.Errorf("spec.source.path %q leaves the repository: remove the \"..\"", path)
		}
	}
	s.Index = q.bare("spec.serving.index", cmp.Or(wanted.Index, "index.html"))
	s.NotFoundPath = q.quote("spec.serving.notFoundPath", cmp.Or(wanted.NotFoundPath, "/404.html"))
	for i, r := range wanted.Redirects {
		s.Redirects = append(s.Redirects, redirect{
			From: q.quote(fmt.Sprintf("spec.serving.redirects[%d].from", i), r.From),
			To:   q.quote(fmt.Sprintf("spec.serving.redirects[%d].to", i), r.To),
			Code: r.Code,
		})
	}
	s.Headers = q.headers(wanted.Headers)
	return s, q.err
}

// quoter writes values as nginx reads them and remembers the first that it
// cannot write.
type quoter struct{ err error }

// quote puts a value in double quotes.
func (q *quoter) quote(what, value string) string {
	// nginx expands variables within quotes too, and has no escape for '$'.
	if strings.Contains(value, "$") || strings.ContainsFunc(value, unicode.IsControl) {
		q.fail(fmt.Errorf("%s %q contains '$' or control characters, which nginx cannot take literally: remove them", what, value))
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

var bareWord = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)

// bare passes a value that stands within a longer word, where it cannot be
// quoted on its own.
func (q *quoter) bare(what, value string) string {
	if !bareWord.MatchString(value) {
		q.fail(fmt.Errorf("%s %q contains characters other than letters, digits and \"._/-\": remove them", what, value))
	}
	return value
}

func (q *quoter) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// headers gathers the values of each header. Where several paths match, the
// longest wins, as with nginx's own locations.
func (q *quoter) headers(wanted []v1beta1.ResponseHeader) []header {
	var headers []header
	ordered := slices.Clone(wanted)
	slices.SortStableFunc(ordered, func(a, b v1beta1.ResponseHeader) int {
		return cmp.Compare(len(b.Path), len(a.Path))
	})
	for _, h := range ordered {
		i := slices.IndexFunc(headers, func(known header) bool { return strings.EqualFold(known.Name, h.Name) })
		if i < 0 {
			i = len(headers)
			headers = append(headers, header{Name: h.Name, Variable: fmt.Sprintf("$header_%d", i)})
		}
		headers[i].Values = append(headers[i].Values, headerValue{
			Pattern: q.pattern(cmp.Or(h.Path, "/")),
			Value:   q.quote("the value of the header "+h.Name, h.Value),
		})
	}
	return headers
}

// pattern is a regular expression for the paths that begin with prefix.
func (q *quoter) pattern(prefix string) string {
	return `"~^` + strings.Trim(q.quote("the path of a header", regexp.QuoteMeta(prefix)), `"`) + `"`
}
