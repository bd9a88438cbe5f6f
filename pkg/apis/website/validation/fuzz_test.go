package validation

import (
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// FuzzValidateWebsite checks the guarantee on which the builders of git's
// command line and nginx's configuration rely: no accepted value begins with a
// dash, contains a control character, or has a meaning to nginx.
func FuzzValidateWebsite(f *testing.F) {
	f.Add("https://example.com/site.git", "main", "public", "index.html", "/404.html", "/a", "/b", "/",
		"X-Frame-Options", "DENY")
	f.Add("git@example.com:site.git", "feature/x", "docs/_site", "home.htm", "/e/404", "/old",
		"https://example.com/new?a=b#c", "/assets/", "Link", `</a.css>; rel="preload"`)
	f.Add("--upload-pack=x", "-x", "-x", "-x", "-x", "-x", "-x", "-x", "-x", "-x")
	f.Add("ssh://-oProxyCommand=x/y", "@{-1}", "a/../b", "..", "//x", "/$uri", "//evil", "/\n", "X:", "a\r\nSet-Cookie: x")
	f.Add("https://example.com/a\x00", "main\n", "a\n", "index.html\n", "/404.html\n", "/a\n", "/b\n",
		"/\x7f", "X\n", "x\t")
	f.Add("git@h:-x", "refs/heads/-x", ".git/hooks", ".", "/..", "/a;", "/b;return", "/;", "Te", "$host")
	f.Add("https://example.com/$(GIT_USERNAME)/x.git", "$(GIT_USERNAME)", "$(x)", "$(x)", "/$(x)", "/$(x)", "/$(x)",
		"/$(x)", "X", "$(x)")
	f.Add("https://example.com:65536/x.git?token=x#y", "x", "x", "x", "/x", "/x", "/x", "/x", "X", "x")
	f.Add("https://h/x", "a", "a", "a", "/größe fehlt.html", "/日本 '/*", "/a", "/ö;{}/*", "X", "x")
	f.Add("https://h/x", "a", "a", "a", "/%0a%3f", "/%22%24", "/a", "/%5C%C3%B6", "X", "x")
	f.Add("x", "x", "x", "x", "-"+strings.Repeat("\xc1", maxPath), "-"+strings.Repeat("ö", maxPath), "/b",
		"-"+strings.Repeat("\xc1", maxPath), "X", "x")
	f.Add("", "", "", "", "", "", "", "", "", "")
	f.Fuzz(func(t *testing.T, repository, ref, path, index, notFound, from, to, headerPath, headerName,
		headerValue string) {
		// Only one member is set at a time, so that a bad value does not hide the effect of another.
		type member struct {
			name, value string
			set         func(*website.Website)
			nginx       bool
			// decoded is set for a path that is written into the configuration without its percent-encoding.
			decoded bool
		}
		members := []member{
			{name: "repository", value: repository, set: func(w *website.Website) {
				repo(repository)(w)
				onlyForSSH(repository, secret("key"))(w)
			}},
			{name: "branch", value: ref, set: func(w *website.Website) {
				w.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: ref}
			}},
			{name: "tag", value: ref, set: func(w *website.Website) { w.Spec.Source.Git.Ref = &v1beta1.GitReference{Tag: ref} }},
			{name: "commit", value: ref, set: func(w *website.Website) {
				w.Spec.Source.Git.Ref = &v1beta1.GitReference{Commit: ref}
			}},
			{name: "ref name", value: ref, set: func(w *website.Website) {
				w.Spec.Source.Git.Ref = &v1beta1.GitReference{Name: ref}
			}},
			{name: "path", value: path, nginx: true, set: func(w *website.Website) { w.Spec.Source.Path = path }},
			{name: "index", value: index, nginx: true, set: func(w *website.Website) { w.Spec.Serving.Index = index }},
			{name: "notFoundPath", value: notFound, decoded: true,
				set: func(w *website.Website) { w.Spec.Serving.NotFoundPath = notFound }},
			{name: "from", value: from, decoded: true, set: func(w *website.Website) {
				w.Spec.Serving.Redirects = []v1beta1.Redirect{{From: from, To: "/fuzz", StatusCode: 301}}
			}},
			{name: "to", value: to, nginx: true, set: func(w *website.Website) {
				w.Spec.Serving.Redirects = []v1beta1.Redirect{{From: "/fuzz", To: to, StatusCode: 301}}
			}},
			{name: "header path", value: headerPath, decoded: true, set: func(w *website.Website) {
				w.Spec.Serving.Headers = []v1beta1.ResponseHeader{{Path: headerPath, Name: "X", Value: "x"}}
			}},
			{name: "header name", value: headerName, nginx: true, set: func(w *website.Website) {
				w.Spec.Serving.Headers = []v1beta1.ResponseHeader{{Path: "/", Name: headerName, Value: "x"}}
			}},
			{name: "header value", value: headerValue, set: func(w *website.Website) {
				w.Spec.Serving.Headers = []v1beta1.ResponseHeader{{Path: "/", Name: "X", Value: headerValue}}
			}},
		}
		for _, m := range members {
			// Only the rule that its type declares rejects a path that is too long.
			if m.value == "" || m.decoded && isTooLong(m.value) || len(ValidateWebsite(newWebsite(m.set))) > 0 {
				continue
			}
			// Only a header's value may begin with a dash: it stands between quotes.
			if strings.HasPrefix(m.value, "-") && m.name != "header value" {
				t.Errorf("%s %q is accepted and begins with a dash", m.name, m.value)
			}
			if strings.ContainsFunc(m.value, unicode.IsControl) {
				t.Errorf("%s %q is accepted and contains a control character", m.name, m.value)
			}
			decoded, err := url.PathUnescape(m.value)
			if m.decoded && (err != nil || strings.ContainsAny(decoded, "\"\\$") ||
				strings.ContainsFunc(decoded, unicode.IsControl)) {
				t.Errorf("%s %q is accepted and has a meaning to nginx where it is decoded", m.name, m.value)
			}
			if m.nginx && strings.ContainsAny(m.value, " \"'\\;{}$") || strings.ContainsAny(m.value, "\\") ||
				m.name == "header value" && strings.Contains(m.value, "$") {
				t.Errorf("%s %q is accepted and has a meaning to nginx", m.name, m.value)
			}
			if m.name == "repository" && strings.ContainsAny(m.value, "$?#") {
				t.Errorf("repository %q is accepted and has a meaning to the kubelet, or may carry a token", m.value)
			}
			for segment := range strings.SplitSeq(m.value, "/") {
				if m.name == "path" && (segment == ".." || strings.EqualFold(segment, ".git") || strings.HasPrefix(segment, "-")) {
					t.Errorf("path %q is accepted and leads to %q", m.value, segment)
				}
			}
		}
	})
}
