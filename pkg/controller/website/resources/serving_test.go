package resources

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func withServing(serving v1beta1.WebsiteServing) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.Spec.Serving = serving }
}

func withPath(path string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.Spec.Source.Path = path }
}

func TestNginxServesAFolder(t *testing.T) {
	for name, folder := range map[string]string{
		"ASCII": "public/site", "letters and spaces": "my site/日本 docs",
		"longest": strings.Repeat(strings.Repeat("日", 83)+"/", 4) + strings.Repeat("é", 12),
	} {
		t.Run(name, func(t *testing.T) { testFolder(t, folder) })
	}
}

func testFolder(t *testing.T, folder string) {
	s := startNginx(t, withPath(folder),
		withServing(v1beta1.WebsiteServing{Index: "home.htm", NotFoundPath: "/errors/missing.html"}))
	s.write(commitA, folder+"/home.htm", "home")
	s.write(commitA, folder+"/errors/missing.html", "not here")
	s.write(commitA, path.Dir(folder)+"/secret.txt", "secret")
	s.write(commitA, "README.md", "readme")
	// A directory that is itself a link could lead anywhere.
	s.write(commitB, "real/index.html", "real")
	s.mkdir("releases/" + commitB + "/" + path.Dir(folder))
	s.link(commitB, folder, "/etc")
	s.publish("releases/" + commitA)

	s.want(s.http, "/", http.StatusOK, "home")
	s.want(s.http, "/missing", http.StatusNotFound, "not here")
	for _, path := range []string{"/README.md", (&url.URL{Path: "/" + folder}).EscapedPath() + "/home.htm",
		"/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt"} {
		if response, body := s.get(s.http, path); response.StatusCode == http.StatusOK {
			t.Errorf("GET %s = 200 %q, want nothing from outside the folder", path, body)
		}
	}
	s.publish("releases/" + commitB)
	if response, body := s.get(s.http, "/passwd"); response.StatusCode == http.StatusOK {
		t.Errorf("GET /passwd = 200 %q through a published folder that is a link", body)
	}
}

func TestNginxSinglePageApplication(t *testing.T) {
	s := startNginx(t, withPath("my app/日本"), withServing(v1beta1.WebsiteServing{Fallback: v1beta1.FallbackSPA}))
	s.write(commitA, "my app/日本/index.html", "app")
	s.write(commitA, "my app/日本/app.js", "code")
	s.publish("releases/" + commitA)
	s.want(s.http, "/app.js", http.StatusOK, "code")
	s.want(s.http, "/any/route", http.StatusOK, "app")
	s.want(s.http, "/.git", http.StatusNotFound, "")
}

func TestNginxHeaders(t *testing.T) {
	policy := `default-src 'self'; script-src "x" {}; #no`
	s := startNginx(t, withServing(v1beta1.WebsiteServing{Headers: []v1beta1.ResponseHeader{
		{Path: "/*", Name: "Content-Security-Policy", Value: policy},
		{Path: "/*", Name: "Cache-Control", Value: "no-cache"},
		{Path: "/assets/v1.0/*", Name: "cache-control", Value: "public, max-age=31536000, immutable"},
	}}))
	s.write(commitA, "index.html", "home")
	s.write(commitA, "404.html", "not here")
	s.write(commitA, "assets/v1.0/app.js", "code")
	s.write(commitA, "assets/v1x0/app.js", "code")
	s.publish("releases/" + commitA)

	tests := map[string]string{
		"/":                   "no-cache",
		"/assets/v1.0/app.js": "public, max-age=31536000, immutable",
		// An error is not cached, despite the rules for the files around it.
		"/assets/v1.0/missing":  "public, max-age=0, must-revalidate",
		"/assets/v1x0/app.js":   "no-cache",
		"/%61ssets/v1.0/app.js": "public, max-age=31536000, immutable",
	}
	for path, want := range tests {
		response, _ := s.get(s.http, path)
		if got := response.Header.Values("Cache-Control"); len(got) != 1 || got[0] != want {
			t.Errorf("GET %s: Cache-Control = %q, want %q", path, got, want)
		}
		if got := response.Header.Get("Content-Security-Policy"); got != policy {
			t.Errorf("GET %s: Content-Security-Policy = %q, want %q", path, got, policy)
		}
	}
}

// TestNginxTakesTheLargestConfiguration renders the maximum number of redirects and headers that the
// API allows.
func TestNginxTakesTheLargestConfiguration(t *testing.T) {
	var serving v1beta1.WebsiteServing
	for i := range 2000 {
		serving.Redirects = append(serving.Redirects,
			v1beta1.Redirect{From: fmt.Sprintf("/from/%d", i), To: fmt.Sprintf("/to/%d", i), StatusCode: 302})
	}
	for i := range 100 {
		serving.Headers = append(serving.Headers, v1beta1.ResponseHeader{Path: "/*", Name: fmt.Sprintf("X-Header-%d", i),
			Value: strings.Repeat("v", 20)})
	}
	// Each has its maximum length, with characters that need an escape.
	longest := func(length int) string { return "/" + strings.Repeat(".", length-1) }
	serving.NotFoundPath = longest(1024)
	serving.Redirects[0] = v1beta1.Redirect{From: longest(1024), To: longest(2048), StatusCode: 302}
	serving.Headers[0] = v1beta1.ResponseHeader{Path: longest(1024), Name: "X-" + strings.Repeat("h", 126),
		Value: strings.Repeat(`"`, 4096)}
	serving.Headers[1] = v1beta1.ResponseHeader{Path: "/*", Name: "X-Longest", Value: strings.Repeat(`"`, 4096)}
	s := startNginx(t, withServing(serving))
	s.write(commitA, "index.html", "home")
	s.publish("releases/" + commitA)
	response, _ := s.get(s.http, "/from/1999")
	if response.StatusCode != 302 || response.Header.Get("Location") != "/to/1999" {
		t.Errorf("the last redirect: %d to %q", response.StatusCode, response.Header.Get("Location"))
	}
	if got := response.Header.Get("X-Longest"); got != strings.Repeat(`"`, 4096) {
		t.Errorf("the longest value arrives with %d bytes: %.40q", len(got), got)
	}
	if got := response.Header.Get("X-Header-99"); got == "" {
		t.Error("the last header is missing")
	}
}

// TestValuesThatNginxWouldReadOtherwise: such values must not reach a configuration, even if the API
// server accepted them.
func TestValuesThatNginxWouldReadOtherwise(t *testing.T) {
	tests := map[string]func(*v1beta1.Website){
		"path with a variable":         withPath("a$document_root"),
		"path that ends the directive": withPath("a; root /"),
		"path out of the repository":   withPath("a/../../etc"),
		"path with a quote":            withPath(`a"b`),
		"path with a backslash":        withPath(`a\b`),
		"path with a line feed":        withPath("a\nb"),
		"path not in UTF-8":            withPath("a\xff"),
		"index with a space":           withServing(v1beta1.WebsiteServing{Index: "a b"}),
		"not found page of a variable": withServing(v1beta1.WebsiteServing{NotFoundPath: "/$uri"}),
		"redirect with a variable": withServing(
			v1beta1.WebsiteServing{Redirects: []v1beta1.Redirect{{From: "/a", To: "/$host", StatusCode: 301}}},
		),
		"redirect with a line feed": withServing(
			v1beta1.WebsiteServing{Redirects: []v1beta1.Redirect{{From: "/a", To: "/b\nX: y", StatusCode: 301}}},
		),
		"header that ends the directive": withServing(
			v1beta1.WebsiteServing{Headers: []v1beta1.ResponseHeader{{Name: "X a; autoindex on; #", Value: "a"}}},
		),
		"header with a carriage return": withServing(
			v1beta1.WebsiteServing{Headers: []v1beta1.ResponseHeader{{Name: "X", Value: "a\rb"}}},
		),
	}
	for name, tweak := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := NginxConfig(newWebsite(tweak), testInstallation); err == nil {
				t.Error("it was written into the configuration")
			}
		})
	}
}

// TestQuotesStayQuotes tests with nginx which characters need an escape.
func TestQuotesStayQuotes(t *testing.T) {
	for _, value := range []string{`"`, `\`, `\\"`, `'`, `";`, `}`, `# x`, `a"b\`} {
		s := startNginx(
			t, withServing(
				v1beta1.WebsiteServing{Headers: []v1beta1.ResponseHeader{{Path: "/*", Name: "X-Value", Value: value}}},
			),
		)
		s.write(commitA, "index.html", "home")
		s.publish("releases/" + commitA)
		if response, _ := s.get(s.http, "/"); response.Header.Get("X-Value") != value {
			t.Errorf("header %q arrives as %q", value, response.Header.Get("X-Value"))
		}
	}
}
