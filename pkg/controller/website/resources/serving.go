package resources

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/gitnames"
	"github.com/kubesites/website-apiserver/pkg/responseheaders"
	"github.com/kubesites/website-apiserver/pkg/urlpaths"
)

// serving is spec.serving in the syntax of nginx. Every string is quoted already, or consists of
// characters that need no quotes.
type serving struct {
	// Path is the published directory below the worktree, with a leading slash, escaped for use
	// between double quotes, or empty.
	Path string
	// Index is the file that is served for a directory.
	Index string
	// ErrorPrefix is the prefix of the paths of error pages.
	ErrorPrefix string
	// NotFoundPage is the page for missing files, with that prefix.
	NotFoundPage string
	// SinglePage serves the root index for a missing file.
	SinglePage bool
	// Redirects are answered before nginx looks for a file.
	Redirects []redirect
	// Moved redirects all other paths, in place of serving files.
	Moved *redirect
	// Headers are added to responses.
	Headers []header
	// Types are the content types.
	Types contentTypes
}

// TypedLocation is the prefix of the location whose requests are passed on to the locations of
// Types.ByPath: all paths, or well-known ones; empty if all of them are redirected.
func (s serving) TypedLocation() string {
	isRedirected := func(r redirect) bool { return r.Prefix != "" && r.From == `"`+wellKnown+`"` }
	switch {
	case s.Moved != nil, !s.Types.OfSite && slices.ContainsFunc(s.Redirects, isRedirected):
		return ""
	case s.Types.OfSite:
		return "/"
	}
	return wellKnown
}

// AccessControl is the value of all headers for other origins together; empty if there are no rules
// for any.
func (s serving) AccessControl() string {
	var value strings.Builder
	for _, h := range s.Headers {
		if strings.HasPrefix(strings.ToLower(h.Name), "access-control-") {
			value.WriteString(h.Variable)
		}
	}
	return value.String()
}

// NotFoundPageOfPath is NotFoundPage with the missing path as its arguments.
func (s serving) NotFoundPageOfPath() string {
	return strings.TrimSuffix(s.NotFoundPage, `"`) + `?$uri"`
}

// redirect is a redirect from a path, or from all paths with a prefix.
type redirect struct {
	// From is the path, quoted, or the prefix.
	From string
	// To is the target, which may contain variables.
	To   string
	Code int32
	// Prefix is a regular expression for the prefix as browsers encode it; empty if From is a path.
	Prefix string
	// Length is the length of the decoded prefix in bytes.
	Length int
}

// header is a header with its values for different paths.
type header struct {
	// Name is the name of the header.
	Name string
	// Variable has the value. It is empty if the header is not sent.
	Variable string
	// Maps select the value, each a part of it: nginx accepts no word longer than maxWord, but can
	// concatenate several.
	Maps []headerMap
	// Caching is true for a header that sets how long a response may be cached. It is not for errors,
	// which may end before the content changes.
	Caching bool
}

// CachedByRules reports whether rules of the site set how long a response may be cached.
func (h header) CachedByRules() bool { return h.Caching && len(h.Maps[0].Values) > 0 }

// WithoutRules is the value of such a header for a response that is not a file.
func (h header) WithoutRules() string {
	if h.Maps[0].Default == cacheControlDefault {
		return cacheControlDefault
	}
	return `""`
}

// Value is the whole value.
func (h header) Value() string {
	var value strings.Builder
	for _, m := range h.Maps {
		value.WriteString(m.Variable)
	}
	return value.String()
}

// headerMap selects one part of a header's value by the path.
type headerMap struct {
	// Variable carries the part.
	Variable string
	// Values are tried in this order.
	Values []headerValue
	// Default is the part if none of Values matches.
	Default string
}

type headerValue struct {
	// Pattern matches the paths, in the form of nginx's map.
	Pattern string
	Value   string
}

// errorPrefix is a hidden directory, which visitors cannot request.
const errorPrefix = "/.error"

const (
	// maxWord is the maximum length of a word in nginx, including quotes.
	maxWord = 4000
	// maxPart is the maximum length of a part of a header's value: half of a word, because every
	// character may need an escape.
	maxPart = maxWord/2 - 1
)

// newServing returns the parameters of the template. The API server has validated all of them, so an
// error is not expected.
func newServing(website *v1beta1.Website) (serving, error) {
	wanted := website.Spec.Serving
	s := serving{SinglePage: wanted.Fallback == v1beta1.FallbackSPA, ErrorPrefix: errorPrefix}
	q := quoter{}
	if path := strings.Trim(website.Spec.Source.Path, "/"); path != "" {
		if err := gitnames.CheckPath(path); err != nil {
			q.fail(fmt.Errorf("spec.source.path %q: %w", path, err))
		}
		s.Path = q.inner("spec.source.path", "/"+path)
	}
	s.Index = q.bare("spec.serving.index", cmp.Or(wanted.Index, "index.html"))
	notFoundPath, err := urlpaths.Decode(cmp.Or(wanted.NotFoundPath, "/404.html"))
	if err != nil {
		q.fail(fmt.Errorf("spec.serving.notFoundPath %q %w", wanted.NotFoundPath, err))
	}
	s.NotFoundPage = q.quote("spec.serving.notFoundPath", errorPrefix+notFoundPath)
	for i, r := range wanted.Redirects {
		if wanted := q.redirect(fmt.Sprintf("spec.serving.redirects[%d]", i), r); wanted.Length == 1 {
			s.Moved = &wanted
		} else {
			s.Redirects = append(s.Redirects, wanted)
		}
	}
	if isProtected(website) {
		wanted.Headers = privateHeaders(wanted.Headers)
	}
	s.Headers = q.headers(wanted.Headers)
	s.Types = q.contentTypes(wanted)
	return s, q.err
}

// quoter writes values in the syntax of nginx and keeps the first error.
type quoter struct{ err error }

// quote puts a value in double quotes.
func (q *quoter) quote(what, value string) string {
	// nginx expands variables within quotes too, and has no escape for '$'.
	if strings.Contains(value, "$") || strings.ContainsFunc(value, unicode.IsControl) {
		q.fail(
			fmt.Errorf("%s %q contains '$' or control characters, which nginx cannot take literally: remove them", what, value),
		)
	}
	quoted := `"` + escaper.Replace(value) + `"`
	if len(quoted) > maxWord {
		q.fail(fmt.Errorf("%s %.40q... is longer than nginx reads: shorten it", what, value))
	}
	return quoted
}

// escaper writes a value between double quotes.
var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// header returns the name of a header, which nginx accepts without quotes.
func (q *quoter) header(name string) string {
	if !headerName.MatchString(name) {
		q.fail(
			fmt.Errorf("the name of the header %q contains characters other than letters, digits and '-': remove them", name),
		)
	}
	return name
}

var bareWord = regexp.MustCompile(`^[A-Za-z0-9._/-]+$`)

// bare returns a value within a longer word, where it cannot be quoted separately.
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

// defaultHeaders are sent unless the Website has another rule for a path. Pages are cached but
// revalidated each time, which costs a 304 as long as the commit is the same, and files have the type
// of their extension.
var defaultHeaders = []v1beta1.ResponseHeader{
	{Name: cacheControl},
	{Name: "X-Content-Type-Options", Value: "nosniff"},
}

const (
	cacheControl = "Cache-Control"
	// cacheControlDefault is its value without a rule. Files of earlier releases have another one.
	cacheControlDefault = "$default_caching"
)

// headerRule is a header for the paths of a pattern.
type headerRule struct {
	paths urlpaths.Pattern
	value string
}

// headers collects the values of each header. If several patterns match, the most specific applies.
func (q *quoter) headers(wanted []v1beta1.ResponseHeader) []header {
	defaults := map[string]string{}
	var names []string
	for _, h := range defaultHeaders {
		names = append(names, h.Name)
		defaults[strings.ToLower(h.Name)] = h.Value
	}
	rules := map[string][]headerRule{}
	for _, h := range wanted {
		paths, err := urlpaths.Parse(h.Path)
		if err != nil {
			q.fail(fmt.Errorf("the path of a header %q %w", h.Path, err))
		}
		name := strings.ToLower(h.Name)
		if _, known := defaults[name]; !known && rules[name] == nil {
			names = append(names, h.Name)
		}
		rules[name] = append(rules[name], headerRule{paths, h.Value})
	}
	for _, rules := range rules {
		slices.SortStableFunc(rules, func(a, b headerRule) int { return urlpaths.BySpecificity(a.paths, b.paths) })
	}
	var headers []header
	for i, name := range names {
		lower := strings.ToLower(name)
		maps := q.headerMaps(name, i, rules[lower], defaults[lower])
		if name == cacheControl {
			maps[0].Default = cacheControlDefault
		}
		headers = append(headers, header{
			Name:     q.header(name),
			Variable: fmt.Sprintf("$header_%d", i),
			Maps:     maps,
			Caching:  responseheaders.IsForCaches(name),
		})
	}
	return headers
}

// headerMaps returns a map for each part of the longest value.
func (q *quoter) headerMaps(name string, header int, rules []headerRule, otherwise string) []headerMap {
	parts := 1
	for _, rule := range rules {
		parts = max(parts, (len(rule.value)+maxPart-1)/maxPart)
	}
	var maps []headerMap
	for i := range parts {
		m := headerMap{Variable: fmt.Sprintf("$site_header_%d_%d", header, i),
			Default: q.quote("a default", part(otherwise, i))}
		for _, rule := range rules {
			m.Values = append(m.Values, headerValue{
				Pattern: q.pattern("the path of a header", rule.paths),
				Value:   q.quote("the value of the header "+name, part(rule.value, i)),
			})
		}
		maps = append(maps, m)
	}
	return maps
}

// part returns the i-th part of a value, empty beyond its end.
func part(value string, i int) string {
	start := min(i*maxPart, len(value))
	return value[start:min(start+maxPart, len(value))]
}

// pattern returns the regular expression of a map for paths.
func (q *quoter) pattern(what string, paths urlpaths.Pattern) string {
	expression := "~^" + q.literal(what, paths.Path)
	if !paths.Prefix {
		expression += `\z`
	}
	return q.quote(what, expression)
}
