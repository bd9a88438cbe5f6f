package resources

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestNginxLongPaths: an extension that does not fit into a name of a file is none.
func TestNginxLongPaths(t *testing.T) {
	s := startNginx(t)
	long := "/" + strings.Repeat("n", 250)
	s.write(commitA, long+".html", "long")
	s.publish("releases/" + commitA)
	s.want(s.http, long, http.StatusOK, "long")
	s.want(s.http, long+"n", http.StatusNotFound, "")
	s.want(s.http, "/page%00", http.StatusBadRequest, "")
	if response, _ := s.get(s.http, "/"+strings.Repeat("n", 5000)); response.StatusCode < 400 {
		t.Errorf("a path of 5000 letters is %d", response.StatusCode)
	}
}

// TestNginxPagesOpenNothing: the added extension makes no file visible that is not visible by its own
// name.
func TestNginxPagesOpenNothing(t *testing.T) {
	s := startNginx(t)
	outside := filepath.Join(filepath.Dir(s.root), "outside.html")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		".html", "sub/.html", "sub/.html.gz", ".hidden.html", "sub/.hidden.html", ".well-known.html", ".well-known/.html",
		".well-known/.hidden.html",
		".git.html", "real/.html", "line\n/.hidden.html", "line\n/.git", "\n.html",
	} {
		s.write(commitA, name, "secret")
	}
	s.write(commitA, "real/page.html", "inside")
	s.write(commitB, "page.html", "secret")
	s.link(commitA, "link.html", outside)
	s.link(commitA, "inner.html", "real/page.html")
	s.link(commitA, "other.html", "../"+commitB+"/page.html")
	s.link(commitA, "folder", "real")
	s.link(commitA, "folder.html", "real")
	s.link(commitA, "loop.html", "loop.html")
	s.link(commitA, "up", "../"+commitB)
	s.link(commitA, "packed.html.gz", outside)
	s.publish("releases/" + commitA)
	for _, path := range []string{
		"/", "/sub/", "/sub", "/sub/.", "/sub/%2e", "/sub/.html", "/.html", "/.", "/.hidden", "/sub/.hidden", "/.hidden.html",
		"/.git", "/.well-known",
		"/.well-known/", "/.well-known/.hidden", "/.well-known/.html", "/real/", "/line%0a/", "/line%0a/.hidden",
		"/line%0a/.git", "/%0a/",
		"/link", "/link.html", "/inner", "/other", "/folder", "/folder/", "/folder/page", "/folder.html/page", "/loop",
		"/up/page", "/packed",
		"/../" + commitB + "/page", "/%2e%2e/" + commitB + "/page", "/..%2f" + commitB + "%2fpage", "/../../../outside",
		"/..%2f..%2f..%2foutside",
	} {
		for _, encoding := range []string{"", "gzip"} {
			response, body := s.get(s.http, path, "Accept-Encoding", encoding)
			if response.StatusCode == http.StatusOK || strings.Contains(body, "secret") || strings.Contains(body, "inside") {
				t.Errorf("GET %s (%s) = %d %q", path, encoding, response.StatusCode, body)
			}
		}
	}
	s.want(s.http, "/real/page", http.StatusOK, "inside")
}

// TestNginxPagesAreFiles: the rules for page.html apply to /page.
func TestNginxPagesAreFiles(t *testing.T) {
	s := startNginx(t)
	text := strings.Repeat("the same words again and again. ", 100)
	s.write(commitA, "page.html", text)
	s.write(commitA, "built.html", "not compressed")
	s.write(commitA, "built.html.gz", gzipped(t, "compressed when it was built"))
	s.write(commitB, "page.html", "page of b")
	s.write(commitB, "built/index.html", "a folder in b")
	s.publish("releases/" + commitA)
	packedTag := tagOf(gzipped(t, "compressed when it was built"))
	for name, test := range map[string]struct {
		method, path string
		headers      []string
		wantStatus   int
		wantBody     string
		want         map[string]string
	}{
		"HEAD": {method: http.MethodHead, path: "/page", wantStatus: 200,
			want: map[string]string{"Content-Length": fmt.Sprint(len(text)), "Content-Type": "text/html; charset=utf-8"}},
		"POST":    {method: http.MethodPost, path: "/page", wantStatus: 405},
		"current": {path: "/page", headers: []string{"If-None-Match", tagOf(text)}, wantStatus: 304},
		"of another": {path: "/page", headers: []string{"If-None-Match", tagOf("page of b")}, wantStatus: 200,
			wantBody: text, want: map[string]string{"Last-Modified": ""}},
		"a range": {path: "/page", headers: []string{"Range", "bytes=4-7"}, wantStatus: 206, wantBody: "same",
			want: map[string]string{"ETag": tagOf(text)}},
		"resumed": {path: "/page", headers: []string{"Range", "bytes=4-7", "If-Range", tagOf(text)}, wantStatus: 206,
			wantBody: "same"},
		"compressed": {path: "/page", headers: []string{"Accept-Encoding", "gzip"}, wantStatus: 200,
			want: map[string]string{"Content-Encoding": "gzip", "ETag": "W/" + tagOf(text)}},
		"precompressed": {path: "/built", headers: []string{"Accept-Encoding", "gzip"}, wantStatus: 200,
			wantBody: gzipped(t, "compressed when it was built"), want: map[string]string{"Content-Encoding": "gzip",
				"ETag": packedTag, "Content-Type": "text/html; charset=utf-8", "Vary": "Accept-Encoding"}},
		"not compressed": {path: "/built", wantStatus: 200, wantBody: "not compressed",
			want: map[string]string{"Content-Encoding": "", "ETag": tagOf("not compressed"), "Vary": "Accept-Encoding"}},
	} {
		t.Run(name, func(t *testing.T) {
			method := test.method
			if method == "" {
				method = http.MethodGet
			}
			response, body := s.do(method, s.http, test.path, test.headers...)
			if response.StatusCode != test.wantStatus || test.wantBody != "" && body != test.wantBody {
				t.Errorf("%d %.40q, want %d %.40q", response.StatusCode, body, test.wantStatus, test.wantBody)
			}
			wantHeaders(t, response, test.want)
			wantHeaders(t, response, map[string]string{"Website-Commit": commitA, "Cache-Control": revalidate})
		})
	}
	s.publish("releases/" + commitB)
	s.want(s.http, "/page", http.StatusOK, "page of b")
	s.want(s.http, "/built", http.StatusMovedPermanently, "")
	s.want(s.http, "/built/", http.StatusOK, "a folder in b")
}

// TestNginxRulesForPages: redirects and headers depend on the requested path, and only caching on the
// file.
func TestNginxRulesForPages(t *testing.T) {
	const year = "public, max-age=31536000, immutable"
	rules := v1beta1.WebsiteServing{
		Redirects: []v1beta1.Redirect{
			{From: "/index.html", To: "/", StatusCode: 301},
			{From: "/page.html", To: "/page", StatusCode: 301},
			{From: "/old", To: "/page", StatusCode: 302},
			{From: "/404.html", To: "/", StatusCode: 301},
		},
		Headers: []v1beta1.ResponseHeader{
			{Path: "/page", Name: "X-Asked", Value: "page"},
			{Path: "/page.html", Name: "X-File", Value: "page"},
			{Path: "/index.html", Name: "X-File", Value: "index"},
			{Path: "/page.html", Name: "Cache-Control", Value: year},
			{Path: "/index.html", Name: "Cache-Control", Value: "no-cache"},
		},
	}
	for _, fallback := range []v1beta1.FallbackPolicy{v1beta1.FallbackNone, v1beta1.FallbackSPA} {
		t.Run(string(fallback), func(t *testing.T) {
			rules.Fallback = fallback
			s := startNginx(t, withServing(rules))
			s.write(commitA, "index.html", "home")
			s.write(commitA, "404.html", "not here")
			s.write(commitA, "page.html", "page")
			s.write(commitA, "old.html", "never seen")
			s.write(commitA, "sub/index.html", "sub")
			s.write(commitA, "empty/file.txt", "file")
			s.publish("releases/" + commitA)
			want := map[string]string{
				"/": "200 home", "/sub/": "200 sub", "/page": "200 page", "/missing": "404 not here",
				"/index.html": "301 /", "/page.html": "301 /page", "/old": "302 /page", "/sub": "301 /sub/",
				"/404.html": "301 /", "/404": "200 not here", "/empty/": "404 not here", "/.git": "404 not here",
				"/page/":           "404 not here",
				"/.error/404.html": "404 not here", "/.error/page": "404 not here", "/.error/": "404 not here",
				"/.error": "404 not here",
			}
			if fallback == v1beta1.FallbackSPA {
				for _, path := range []string{"/missing", "/empty/", "/page/"} {
					want[path] = "200 home"
				}
			}
			for path, want := range want {
				response, body := s.get(s.http, path)
				if location := response.Header.Get("Location"); location != "" {
					body = location
				}
				if got := fmt.Sprint(response.StatusCode, " ", body); got != want {
					t.Errorf("GET %s = %q, want %q", path, got, want)
				}
			}
			for path, want := range map[string]map[string]string{
				"/":      {"X-Asked": "", "X-File": "", "Cache-Control": "no-cache"},
				"/page":  {"X-Asked": "page", "X-File": "", "Cache-Control": year},
				"/index": {"X-Asked": "", "X-File": "", "Cache-Control": "no-cache"},
				"/sub/":  {"X-Asked": "", "X-File": "", "Cache-Control": revalidate},
			} {
				response, _ := s.get(s.http, path)
				wantHeaders(t, response, want)
			}
		})
	}
}

// TestNginxNotFoundPageWithoutExtension: the page for missing files may be named without its
// extension.
func TestNginxNotFoundPageWithoutExtension(t *testing.T) {
	s := startNginx(t, withServing(v1beta1.WebsiteServing{NotFoundPath: "/errors/missing"}))
	s.write(commitA, "errors/missing.html", "not here")
	s.write(commitA, "sub/file.txt", "file")
	s.publish("releases/" + commitA)
	for _, path := range []string{"/missing", "/", "/sub/", "/sub/missing", "/.git", "/.git/"} {
		s.want(s.http, path, http.StatusNotFound, "not here")
	}
}

// TestNginxErrorPagesAreNoWayIn: a file that visitors may not request is not sent as the page for
// missing files either, nor with a 304.
func TestNginxErrorPagesAreNoWayIn(t *testing.T) {
	for _, page := range []string{"/.git", "/.hidden/404.html", "/sub/.404.html", "/link.html", "/link",
		"/folder/404.html", "/sub/"} {
		t.Run(page, func(t *testing.T) {
			s := startNginx(t, withServing(v1beta1.WebsiteServing{NotFoundPath: page}))
			for _, name := range []string{".git", ".hidden/404.html", "sub/.404.html", "sub/.html", "real/404.html"} {
				s.write(commitA, name, "secret")
			}
			s.link(commitA, "link.html", "real/404.html")
			s.link(commitA, "folder", "real")
			s.publish("releases/" + commitA)
			for _, path := range []string{"/missing", "/.git", "/sub/", "/", page} {
				for _, condition := range [][]string{nil, {"If-None-Match", `"another"`}} {
					response, body := s.get(s.http, path, condition...)
					if response.StatusCode != http.StatusNotFound || strings.Contains(body, "secret") {
						t.Errorf("GET %s = %d %q", path, response.StatusCode, body)
					}
				}
			}
			if response, _ := s.get(s.http, "/.git", "If-None-Match",
				tagOf("secret")); response.StatusCode != http.StatusNotFound {
				t.Errorf("GET /.git with a tag = %d", response.StatusCode)
			}
		})
	}
}
