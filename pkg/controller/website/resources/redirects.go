package resources

import (
	"fmt"
	"strings"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/urlpaths"
)

// restVariable is the part of the requested path that '*' matches, as set by the template. It
// replaces ":splat", and never begins with a slash.
const restVariable = "${rest}"

// redirect returns the parameters of the template for a redirect.
func (q *quoter) redirect(what string, wanted v1beta1.Redirect) redirect {
	r := redirect{Code: wanted.StatusCode}
	to, fragment, hasFragment := strings.Cut(wanted.To, "#")
	if hasFragment {
		fragment = "#" + fragment
	}
	// A target with a query string keeps its own.
	args := ""
	if !strings.Contains(to, "?") {
		args = "$is_args$args"
	}
	before, after := q.inner(what+".to", to), q.inner(what+".to", fragment)
	from, err := urlpaths.Parse(wanted.From)
	if err != nil {
		q.fail(fmt.Errorf("%s.from %q %w", what, wanted.From, err))
	}
	r.From = q.quote(what+".from", from.Path)
	if from.Prefix {
		r.Prefix, r.Length = q.literal(what+".from", urlpaths.Encode(from.Path)), len(from.Path)
		before, after = strings.ReplaceAll(before, ":splat", restVariable), strings.ReplaceAll(after, ":splat", restVariable)
	}
	r.To = `"` + before + args + after + `"`
	return r
}

// inner returns value as it is written between double quotes.
func (q *quoter) inner(what, value string) string {
	quoted := q.quote(what, value)
	return quoted[1 : len(quoted)-1]
}

// literal returns a part of a regular expression that matches value only. It is little longer than
// value, in contrast to an escape for each character.
func (q *quoter) literal(what, value string) string {
	if strings.ContainsAny(value, `\"`) {
		q.fail(fmt.Errorf("%s %q contains '\\' or '\"': remove them", what, value))
	}
	return `\Q` + value + `\E`
}
