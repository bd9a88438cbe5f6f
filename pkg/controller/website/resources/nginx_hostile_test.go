package resources

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNginxHostileNames: a repository may contain any name that Linux takes.
func TestNginxHostileNames(t *testing.T) {
	s := startNginx(t)
	s.write(commitA, "404.html", "not here")
	names := []string{
		`a b`, `100%`, `%2e%2e`, `what?`, `a#b`, `"quoted"`, `it's`, `$uri`, `${host}`, `semi;colon`, `{}`,
		`back\slash`, `<script>`,
		"tab\tname", "line\nX-Injected: yes", "cr\r\nX-Injected: yes", "\x01\x7f", "\xff\xfe", "Größe", "日本語", `-rf`, `~`,
		`\evil.example`,
		strings.Repeat("n", 255),
	}
	for _, name := range names {
		s.write(commitA, "files/"+name, "content of "+name)
		s.mkdir("releases/" + commitA + "/" + name)
	}
	s.publish("releases/" + commitA)
	for _, name := range names {
		s.want(s.http, "/files/"+url.PathEscape(name), http.StatusOK, "content of "+name)
		// For a directory nginx redirects to the same path with a slash: the redirect must not lead
		// to another host, nor add a header to the response.
		response, _ := s.get(s.http, "/"+url.PathEscape(name))
		location := response.Header.Get("Location")
		target, err := url.Parse(location)
		if err != nil || response.StatusCode != http.StatusMovedPermanently {
			t.Errorf("folder %q: %d to %q: %v", name, response.StatusCode, location, err)
			continue
		}
		if target.IsAbs() || target.Host != "" || target.Path != "/"+name+"/" || strings.ContainsAny(location, "\\\"<>") {
			t.Errorf("folder %q: sent to %q", name, location)
		}
		if response.Header.Get("X-Injected") != "" {
			t.Errorf("folder %q: its name added a header", name)
		}
	}
}

// TestNginxRedirectsStayOnTheHost: paths that a browser could read as a host.
func TestNginxRedirectsStayOnTheHost(t *testing.T) {
	s := startNginx(t)
	s.mkdir("releases/" + commitA + "/evil.example")
	s.publish("releases/" + commitA)
	for _, path := range []string{"//evil.example", "///evil.example", "/%2fevil.example", "/./evil.example",
		"/x/..//evil.example"} {
		answer := s.raw(fmt.Sprintf("GET %s HTTP/1.1\r\nHost: site.example:31971\r\nConnection: close\r\n\r\n", path))
		if !strings.Contains(answer, "\r\nLocation: /evil.example/\r\n") {
			t.Errorf("GET %s:\n%s", path, answer)
		}
	}
}

// raw sends bytes unchanged and returns the response.
func (s *testSite) raw(request string) string {
	s.t.Helper()
	connection, err := net.Dial("unix", s.socket(s.http))
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := connection.Write([]byte(request)); err != nil {
		s.t.Fatal(err)
	}
	var answer strings.Builder
	if _, err := bufio.NewReader(connection).WriteTo(&answer); err != nil {
		s.t.Fatal(err)
	}
	return answer.String()
}

// TestNginxMalformedRequests: malformed requests reach no file.
func TestNginxMalformedRequests(t *testing.T) {
	s := startNginx(t)
	s.write(commitA, "index.html", "home")
	s.write(commitA, ".git/config", "secret")
	s.publish("releases/" + commitA)
	for name, request := range map[string]string{
		"nul":              "GET /%00 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"above the root":   "GET /../../etc/passwd HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"encoded dots":     "GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"encoded slashes":  "GET /..%2f..%2f..%2fetc%2fpasswd HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"back to git":      "GET /x/../.git/config HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"encoded git":      "GET /%2egit/config HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"double slash git": "GET //.git/config HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"absolute form":    "GET http://other/.git/config HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"no host":          "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
		"body too": "GET /.git/config HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: " +
			"chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
		"a tunnel":          "CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		"proxy to metadata": "POST http://169.254.169.254/latest HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			answer := s.raw(request)
			status, _, _ := strings.Cut(strings.TrimPrefix(answer, "HTTP/1.1 "), " ")
			if !strings.HasPrefix(status, "4") {
				t.Errorf("status %q:\n%s", status, answer)
			}
			for _, leak := range []string{"secret", "root:", "nginx/1"} {
				if strings.Contains(answer, leak) {
					t.Errorf("the answer contains %q:\n%s", leak, answer)
				}
			}
		})
	}
}

// TestNginxHostileLinks: every kind of link that git can check out.
func TestNginxHostileLinks(t *testing.T) {
	s := startNginx(t)
	outside := filepath.Join(filepath.Dir(s.root), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.write(commitB, "index.html", "secret of another commit")
	s.write(commitA, ".git", "secret gitdir")
	s.write(commitA, "real/file.txt", "inside")
	for name, target := range map[string]string{
		"absolute":       outside,
		"relative":       "../../../outside",
		"up.html":        "../" + commitB + "/index.html",
		"git":            ".git",
		"proc":           "/proc/self/environ",
		"root":           "/",
		"folder":         "real",
		"chain":          "absolute",
		"real/deep.html": "../../../../outside",
		"loop":           "loop",
		"nowhere":        "gone",
		"404.html":       outside,
		"index.html":     outside,
	} {
		s.link(commitA, name, target)
	}
	s.publish("releases/" + commitA)
	for _, path := range []string{
		"/", "/index.html", "/404.html", "/absolute", "/relative", "/up.html", "/git", "/proc", "/root", "/root/",
		"/root/etc/passwd",
		"/folder", "/folder/", "/folder/file.txt", "/chain", "/real/deep.html", "/loop", "/nowhere", "/missing",
	} {
		response, body := s.get(s.http, path)
		if response.StatusCode != http.StatusNotFound || strings.Contains(body, "secret") ||
			strings.Contains(body, "inside") {
			t.Errorf("GET %s = %d %q, want 404 and nothing of the link's target", path, response.StatusCode, body)
		}
	}
	s.want(s.http, "/real/file.txt", http.StatusOK, "inside")
}
