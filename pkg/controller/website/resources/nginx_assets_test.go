package resources

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

const immutable = "public, max-age=31536000, immutable"

// keep adds a file of an earlier release that the agent keeps beside the release of a commit.
func (s *testSite) keep(commit, name, content string) {
	s.t.Helper()
	s.writeFile(filepath.Join(s.root, "assets", commit, name), content)
}

// wantKept checks an asset of an earlier release.
func (s *testSite) wantKept(path, content, caching string) {
	s.t.Helper()
	response, body := s.get(s.http, path)
	if response.StatusCode != http.StatusOK || body != content {
		s.t.Errorf("GET %s = %d %q, want %q", path, response.StatusCode, body, content)
	}
	if got := response.Header.Values("Cache-Control"); len(got) != 1 || got[0] != caching {
		s.t.Errorf("GET %s: Cache-Control = %q, want %q", path, got, caching)
	}
	if got := response.Header.Get("Website-Commit"); got != commitB {
		s.t.Errorf("GET %s: Website-Commit = %q", path, got)
	}
}

// TestNginxKeepsAssets: a page that was loaded before a push still gets its files.
func TestNginxKeepsAssets(t *testing.T) {
	for name, test := range map[string]struct {
		tweak func(*v1beta1.Website)
		// dir is the directory of the site in the repository.
		dir string
		// missing is the response for a file that never existed, and its caching.
		missing        int
		body, missingC string
		caching        string
	}{
		"plain": {tweak: func(*v1beta1.Website) {}, missing: http.StatusNotFound, body: "not here", missingC: revalidate,
			caching: immutable},
		"path": {tweak: withPath("public"), dir: "public/", missing: http.StatusNotFound, body: "not here",
			missingC: revalidate, caching: immutable},
		"routes": {tweak: func(website *v1beta1.Website) { website.Spec.Serving.Fallback = v1beta1.FallbackSPA },
			missing: http.StatusOK, body: "home of b", missingC: revalidate, caching: immutable},
		"rule": {tweak: func(website *v1beta1.Website) {
			website.Spec.Serving.Headers = []v1beta1.ResponseHeader{{Path: "/assets/*", Name: "cache-control",
				Value: "public, max-age=60"}}
		}, missing: http.StatusNotFound, body: "not here", missingC: revalidate, caching: "public, max-age=60"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startNginx(t, test.tweak)
			s.write(commitB, test.dir+"index.html", "home of b")
			s.write(commitB, test.dir+"404.html", "not here")
			s.write(commitB, test.dir+"assets/app.22222222.js", "b")
			s.keep(commitB, test.dir+"assets/app.1111111a.js", "a")
			s.keep(commitB, test.dir+".hidden/app.1111111a.js", "secret")
			s.keep(commitA, test.dir+"assets/other.1111111a.js", "of another commit")
			outside := filepath.Join(filepath.Dir(s.root), "outside")
			if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, filepath.Join(s.root, "assets", commitB, test.dir, "assets",
				"link.1111111a.js")); err != nil {
				t.Fatal(err)
			}
			s.publish("releases/" + commitB)

			s.want(s.http, "/assets/app.22222222.js", http.StatusOK, "b")
			s.wantKept("/assets/app.1111111a.js", "a", test.caching)
			response, _ := s.get(s.http, "/assets/app.1111111a.js", "If-None-Match", tagOf("a"))
			if response.StatusCode != http.StatusNotModified {
				t.Errorf("an asset that the client has is sent again: %d", response.StatusCode)
			}
			for _, path := range []string{"/assets/app.33333333.js", "/assets/other.1111111a.js", "/assets/", "/nowhere"} {
				response, body := s.get(s.http, path, "Sec-Fetch-Mode", "navigate")
				if response.StatusCode != test.missing || body != test.body ||
					response.Header.Get("Cache-Control") != test.missingC && test.caching == immutable {
					t.Errorf("GET %s = %d %q, Cache-Control %q", path, response.StatusCode, body, response.Header.Get("Cache-Control"))
				}
			}
			for _, path := range []string{"/.hidden/app.1111111a.js", "/assets/link.1111111a.js"} {
				if response, body := s.get(s.http, path); body == "secret" || response.Header.Get("Cache-Control") == immutable {
					t.Errorf("GET %s = %d %q", path, response.StatusCode, body)
				}
			}
		})
	}
}

// TestNginxPassesTheStatusOn: nginx forwards the response of the agent, and only the signature among
// the headers of a request.
func TestNginxPassesTheStatusOn(t *testing.T) {
	s := startNginx(t)
	s.want(s.admin, "/status", http.StatusBadGateway, "")
	received := s.startAgent(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"commit":""}`)) })
	response, body := s.get(s.admin, "/status?x=1", "X-Secret", "1", requests.Header, "Bearer token",
		agent.ClientHeader, "another")
	if response.StatusCode != http.StatusOK || body != `{"commit":""}` ||
		response.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("GET /status = %d %q %v", response.StatusCode, body, response.Header)
	}
	r := <-received
	if r.URL.Path != "/status" || r.URL.RawQuery != "x=1" || r.Header.Get("X-Secret") != "" {
		t.Errorf("the agent got %s %v", r.URL, r.Header)
	}
	// The signature is from the client, the address of the client from nginx.
	if r.Header.Get(requests.Header) != "Bearer token" || r.Header.Get(agent.ClientHeader) == "another" ||
		r.Header.Get(agent.ClientHeader) == "" {
		t.Errorf("the agent authorizes by %v", r.Header)
	}
	s.want(s.admin, "/status/x", http.StatusNotFound, "")
	s.want(s.http, "/status", http.StatusServiceUnavailable, "")
}
