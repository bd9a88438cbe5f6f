package resources

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// withUsers protects a site.
func withUsers(secret string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) {
		website.Spec.Access.BasicAuth = &v1beta1.BasicAuth{SecretRef: v1beta1.SecretReference{Name: secret}}
	}
}

// admit makes the agent write the password file from a Secret with these keys.
func (s *testSite) admit(keys map[string]string) {
	s.t.Helper()
	dir := s.t.TempDir()
	for key, value := range keys {
		if err := os.WriteFile(filepath.Join(dir, key), []byte(value), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	keeper := access.Keeper{SecretDir: dir, File: s.users}
	if problem, err := keeper.Check(); err != nil && problem != access.ProblemMissing {
		s.t.Fatalf("%s: %v", problem, err)
	}
	// In a pod, nginx has the group of the file.
	if err := os.Chmod(s.users, 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func userAndPassword(user, password string) map[string]string {
	return map[string]string{access.UsernameKey: user, access.PasswordKey: password}
}

// as returns the header with which browsers send a password.
func as(user, password string) []string {
	return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}
}

// isRejected checks the response to a request without the right password.
func (s *testSite) isRejected(t *testing.T, response *http.Response, body string) {
	t.Helper()
	if response.StatusCode != http.StatusUnauthorized || strings.Contains(body, "secret") {
		t.Errorf("%s %s = %d %q, want it rejected", response.Request.Method, response.Request.URL, response.StatusCode, body)
	}
	wantHeaders(t, response, map[string]string{
		"WWW-Authenticate": `Basic realm="Website", charset="UTF-8"`, "Cache-Control": "no-store", "Website-Commit": commitA,
		"ETag": "", "Location": "",
	})
}

// protectedSites are sites with all kinds of responses.
var protectedSites = map[string]v1beta1.WebsiteServing{
	"pages":       {NotFoundPath: "/404.html", Redirects: manyRedirects},
	"single page": {Fallback: v1beta1.FallbackSPA, Redirects: manyRedirects},
	"moved": {
		Redirects: append(slices.Clone(manyRedirects), v1beta1.Redirect{From: "/*", To: "https://example.com/secret/:splat",
			StatusCode: 301}),
	},
}

var manyRedirects = []v1beta1.Redirect{
	{From: "/r301", To: "/secret", StatusCode: 301}, {From: "/r302", To: "/secret", StatusCode: 302},
	{From: "/r303", To: "/secret?a=b", StatusCode: 303},
	{From: "/r307", To: "https://example.com/secret", StatusCode: 307}, {From: "/r308", To: "/secret#x", StatusCode: 308},
	{From: "/prefix/*", To: "/secret/:splat", StatusCode: 301},
	{From: "/other/*", To: "https://example.com/secret/:splat", StatusCode: 302},
}

// protectedPaths are requested from each site. The files contain the word that no rejection may have.
var protectedPaths = []string{
	"/", "/index.html", "/page", "/page.html", "/sub", "/sub/", "/sub?a=b", "/sub/index.html", "/data.json",
	"/empty/", "/404.html",
	"/missing", "/missing/", "/kept.3f2a91bc.js", "/.well-known/security.txt", "/.git/config", "/sub/.hidden",
	"/.error/404.html", "/.error/",
	"/r301", "/r302", "/r303", "/r307", "/r307?a=b", "/r308", "/r301/", "/prefix/", "/prefix/a/b?c=d", "/prefix/%0aa",
	"/prefix", "/other/x", "/prefix/%2e%2e/page",
	"//", "//page.html", "/./page.html", "/sub/../page.html", "/%70age.html", "/sub%2findex.html", "/%2e/page.html",
	"/page.html?", "/page.html/",
	"/none", "/@site", "/@redirect_301", "/@assets", "/access/users", "/dev/null", "/dev/null/none",
}

func (s *testSite) fill() {
	s.t.Helper()
	for name, content := range map[string]string{
		"index.html": "the secret home", "page.html": "a secret page", "sub/index.html": "a secret directory",
		"404.html":  "a secret error page",
		"data.json": `{"secret": true}` + strings.Repeat(" ", 1000), "data.json.gz": gzipped(s.t, "secret"),
		".well-known/security.txt": "secret contact", ".git/config": "secret", "sub/.hidden": "secret",
		"empty/.keep": "secret",
	} {
		s.write(commitA, name, content)
	}
	s.keep(commitA, "kept.3f2a91bc.js", "secret code")
	s.publish("releases/" + commitA)
}

// TestNginxRejectsWithoutPassword: every path is rejected, with any kind of response.
func TestNginxRejectsWithoutPassword(t *testing.T) {
	for name, serving := range protectedSites {
		t.Run(name, func(t *testing.T) {
			s := startNginx(t, withServing(serving), withUsers("readers"))
			s.fill()
			s.admit(userAndPassword("reader", "right"))
			requests := map[string][]string{
				"no password":         nil,
				"wrong password":      as("reader", "wrong"),
				"empty password":      as("reader", ""),
				"another user":        as("other", "right"),
				"no user":             as("", "right"),
				"longer password":     as("reader", "right "),
				"part of it":          as("reader", "righ"),
				"no scheme":           {"Authorization", "right"},
				"another scheme":      {"Authorization", "Bearer right"},
				"no base64":           {"Authorization", "Basic ***"},
				"hash as password":    as("reader", s.hashOf("reader")),
				"what is known of it": {"If-None-Match", tagOf("home")},
				"any version":         {"If-Match", "*"},
				"a range":             {"Range", "bytes=0-1"},
				"compressed":          {"Accept-Encoding", "gzip"},
				"of a proxy":          {"X-Original-URL", "/", "X-Forwarded-User", "reader", "Remote-User", "reader"},
			}
			for what, headers := range requests {
				for _, path := range protectedPaths {
					for _, method := range []string{http.MethodGet, http.MethodHead} {
						response, body := s.do(method, s.http, path, headers...)
						s.isRejected(t, response, body)
						if t.Failed() {
							t.Fatalf("with %s", what)
						}
					}
				}
			}
			// The admin port is for the kubelet and the controller.
			s.want(s.admin, "/readyz", http.StatusOK, "ok\n")
			s.want(s.admin, "/commit", http.StatusOK, commitA+"\n")
			if response, _ := s.do(http.MethodPost, s.http, "/page.html"); response.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("POST = %d", response.StatusCode)
			}
		})
	}
}

// hashOf is the hash of a user in the file.
func (s *testSite) hashOf(user string) string {
	s.t.Helper()
	data, err := os.ReadFile(s.users)
	if err != nil {
		s.t.Fatal(err)
	}
	_, hash, _ := strings.Cut(strings.TrimSpace(string(data)), user+":")
	return hash
}

// TestNginxServesUsersAsEveryone: with a password, a site is the same as without protection.
func TestNginxServesUsersAsEveryone(t *testing.T) {
	for name, serving := range protectedSites {
		t.Run(name, func(t *testing.T) {
			open, protected := startNginx(t, withServing(serving)), startNginx(t, withServing(serving), withUsers("readers"))
			open.fill()
			protected.fill()
			protected.admit(userAndPassword("reader", "right"))
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				for what, headers := range map[string]func(*testSite) []string{
					"nothing else":   func(*testSite) []string { return nil },
					"a current tag":  func(s *testSite) []string { return []string{"If-None-Match", tagOf("home")} },
					"a range":        func(*testSite) []string { return []string{"Range", "bytes=0-2"} },
					"gzip":           func(*testSite) []string { return []string{"Accept-Encoding", "gzip"} },
					"another's tags": func(s *testSite) []string { return []string{"If-None-Match", `"x"`} },
				} {
					for _, path := range protectedPaths {
						want, wantBody := open.do(method, open.http, path, headers(open)...)
						got, gotBody := protected.do(method, protected.http, path,
							append(headers(protected), as("reader", "right")...)...)
						if got.StatusCode != want.StatusCode || gotBody != wantBody {
							t.Errorf("%s %s with %s = %d %q, without protection %d %q", method, path, what, got.StatusCode, gotBody,
								want.StatusCode, wantBody)
						}
						same := map[string]string{}
						for _, header := range []string{"Location", "Content-Type", "Content-Encoding", "Content-Range", "Content-Length",
							"Vary", "Website-Commit", "X-Content-Type-Options", "Allow"} {
							same[header] = strings.Join(want.Header.Values(header), " | ")
						}
						same["ETag"] = want.Header.Get("ETag")
						same["Cache-Control"] = strings.ReplaceAll(want.Header.Get("Cache-Control"), "public", "private")
						wantHeaders(t, got, same)
					}
				}
			}
		})
	}
}

// TestNginxFollowsTheUsers: nginx reads the file for each request, and rejects all of them
// without it.
func TestNginxFollowsTheUsers(t *testing.T) {
	for name, serving := range protectedSites {
		t.Run(name, func(t *testing.T) {
			s := startNginx(t, withServing(serving), withUsers("readers"))
			s.fill()
			status := func(password string) int {
				response, body := s.get(s.http, "/page.html", as("reader", password)...)
				if response.StatusCode >= 400 && strings.Contains(body, "secret") {
					t.Errorf("with status %d comes %q", response.StatusCode, body)
				}
				return response.StatusCode
			}
			admitted := http.StatusOK
			if name == "moved" {
				admitted = http.StatusMovedPermanently
			}
			for _, step := range []struct {
				when   string
				change func()
				want   map[string]int
			}{
				{"no file yet", func() {}, map[string]int{"first": http.StatusForbidden, "second": http.StatusForbidden}},
				{"a user", func() { s.admit(userAndPassword("reader", "first")) },
					map[string]int{"first": admitted, "second": http.StatusUnauthorized}},
				{"another password", func() { s.admit(userAndPassword("reader", "second")) },
					map[string]int{"first": http.StatusUnauthorized, "second": admitted}},
				{"no Secret", func() { s.admit(nil) },
					map[string]int{"first": http.StatusUnauthorized, "second": http.StatusUnauthorized}},
				{"a Secret again", func() { s.admit(userAndPassword("reader", "first")) },
					map[string]int{"first": admitted, "second": http.StatusUnauthorized}},
			} {
				step.change()
				for password, want := range step.want {
					if got := status(password); got != want {
						t.Errorf("%s: with the %s password the status is %d, want %d", step.when, password, got, want)
					}
				}
			}
			if err := os.Remove(s.users); err != nil {
				t.Fatal(err)
			}
			for _, path := range protectedPaths {
				response, body := s.get(s.http, path, as("reader", "first")...)
				if response.StatusCode != http.StatusForbidden || strings.Contains(body, "secret") {
					t.Errorf("without the file GET %s = %d %q", path, response.StatusCode, body)
				}
				wantHeaders(t, response, map[string]string{"Cache-Control": "no-store", "Website-Commit": commitA})
			}
		})
	}
}

// TestNginxVerifiesHashes: the hashes that the agent accepts do not depend on the libc of the image.
func TestNginxVerifiesHashes(t *testing.T) {
	s := startNginx(t, withUsers("readers"))
	s.fill()
	s.admit(map[string]string{access.HtpasswdKey: `# of "openssl passwd -apr1" and of base64
md5:$apr1$saltsalt$LrttParrLPdxvgutaSXWJ0
sha:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=
`})
	for _, user := range []string{"md5", "sha"} {
		for password, want := range map[string]int{"secret": http.StatusOK, "Secret": http.StatusUnauthorized,
			"": http.StatusUnauthorized} {
			if response, _ := s.get(s.http, "/", as(user, password)...); response.StatusCode != want {
				t.Errorf("user %s with the password %q: %d, want %d", user, password, response.StatusCode, want)
			}
		}
	}
	for _, password := range []string{"a:b", "пароль", " with spaces ", strings.Repeat("long", 256)} {
		s.admit(userAndPassword("Jörg", password))
		if response, _ := s.get(s.http, "/", as("Jörg", password)...); response.StatusCode != http.StatusOK {
			t.Errorf("with the password %.20q: %d", password, response.StatusCode)
		}
	}
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "user-%d:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n", i)
	}
	s.admit(map[string]string{access.HtpasswdKey: lines.String()})
	for user, want := range map[string]int{"user-0": http.StatusOK, "user-99": http.StatusOK, "user-999": http.StatusOK,
		"user-1000": http.StatusUnauthorized, "user-": http.StatusUnauthorized} {
		if response, _ := s.get(s.http, "/", as(user, "secret")...); response.StatusCode != want {
			t.Errorf("user %s of a thousand: %d, want %d", user, response.StatusCode, want)
		}
	}
}

// TestNginxKeepsPagesPrivate: a shared cache in front of a protected site, such as the cache of a
// gateway, would send its pages to everyone.
func TestNginxKeepsPagesPrivate(t *testing.T) {
	s := startNginx(t, withUsers("readers"), withServing(v1beta1.WebsiteServing{Headers: []v1beta1.ResponseHeader{
		{Path: "/page.html", Name: "Cache-Control", Value: "Public, max-age=60, s-maxage=3600, immutable"},
		{Path: "/sub/*", Name: "cache-control", Value: "no-store"},
		{Path: "/data.json", Name: "Cache-Control", Value: ""},
		{Path: "/*", Name: "CDN-Cache-Control", Value: "public, max-age=60"},
		{Path: "/*", Name: "Surrogate-Control", Value: "max-age=60"},
		{Path: "/*", Name: "Netlify-CDN-Cache-Control", Value: "public, max-age=60"},
		{Path: "/*", Name: "Edge-Control", Value: "max-age=60"},
		{Path: "/*", Name: "X-Accel-Expires", Value: "60"},
	}}))
	s.fill()
	s.admit(userAndPassword("reader", "right"))
	for path, want := range map[string]string{
		"/": "private, max-age=0, must-revalidate", "/page.html": "private, max-age=60, immutable",
		"/sub/": "private, no-store", "/data.json": "private",
		"/kept.3f2a91bc.js": "private, max-age=31536000, immutable", "/missing": "private, max-age=0, must-revalidate",
	} {
		response, _ := s.get(s.http, path, as("reader", "right")...)
		wantHeaders(t, response, map[string]string{"Cache-Control": want})
		for name, want := range map[string]string{
			"CDN-Cache-Control": "no-store", "Surrogate-Control": "no-store", "Netlify-CDN-Cache-Control": "no-store",
			"Edge-Control": "no-store", "X-Accel-Expires": "0",
		} {
			if response.StatusCode != http.StatusOK {
				want = "" // Errors are kept nowhere.
			}
			if got := response.Header.Get(name); got != want {
				t.Errorf("GET %s: %s = %q, want %q", path, name, got, want)
			}
		}
	}
}

// TestOpenSitesAreUnchanged: the configuration of other sites has no part of the protection.
func TestOpenSitesAreUnchanged(t *testing.T) {
	config := mustNginxConfig(t, newWebsite(withServing(protectedSites["moved"])))
	for _, word := range []string{"auth_basic", "private", "/dev/null", "@site", "<%", "%>"} {
		if strings.Contains(config, word) {
			t.Errorf("the configuration of a site that everyone may read has %q", word)
		}
	}
}

// TestNginxTakesTheLargestProtectedConfiguration: redirects of protected sites take more of the
// configuration.
func TestNginxTakesTheLargestProtectedConfiguration(t *testing.T) {
	var serving v1beta1.WebsiteServing
	for i := range 2000 {
		redirect := v1beta1.Redirect{From: fmt.Sprintf("/from/%d", i), To: fmt.Sprintf("/secret/%d", i), StatusCode: 302}
		if i < 100 {
			redirect.From, redirect.To = redirect.From+"/*", redirect.To+"/:splat"
		}
		serving.Redirects = append(serving.Redirects, redirect)
	}
	s := startNginx(t, withServing(serving), withUsers("readers"))
	s.fill()
	s.admit(userAndPassword("reader", "right"))
	for path, want := range map[string]string{"/from/1999": "/secret/1999", "/from/99/x": "/secret/99/x"} {
		response, body := s.get(s.http, path)
		s.isRejected(t, response, body)
		if response, _ := s.get(s.http, path, as("reader", "right")...); response.Header.Get("Location") != want {
			t.Errorf("GET %s = %d to %q, want %q", path, response.StatusCode, response.Header.Get("Location"), want)
		}
	}
}
