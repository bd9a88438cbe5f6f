package resources

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestNginxConfigFacts(t *testing.T) {
	config := mustNginxConfig(t, newWebsite())
	for name, want := range map[string]string{
		"stays in the foreground":            "daemon off;",
		"listens for the Service":            "listen 8080 default_server;",
		"listens for the kubelet":            "listen 8081 default_server;",
		"takes only releases":                `"~^/site/releases/(?<release>[0-9a-f]{40}(?:[0-9a-f]{24})?)$" $release;`,
		"serves under a literal prefix":      `root "/site/releases/$served";`,
		"follows no link out of the release": "disable_symlinks on from=/site/releases/$served;",
		"asks the agent on loopback":         "proxy_pass http://127.0.0.1:8083/status;",
		"hides dot files":                    `location ~ "(?s)^/\.(?!well-known/)|./\.|^/(?:_headers|`,
		"redirects within the site":          "absolute_redirect off;",
		"does not tell its version":          "server_tokens off;",
		"opens a file once":                  "open_file_cache max=1024 inactive=20s;",
		"keeps its pid in the temp folder":   "pid /tmp/nginx.pid;",
		"listens on IPv6 if there is any":    "include /proc/net/dev_snmp6/../../../../etc/website/http-ipv[6].conf;",
		"is probed on IPv6 if there is any":  "include /proc/net/dev_snmp6/../../../../etc/website/admin-ipv[6].conf;",
		"waits for no slow request":          "client_header_timeout 10s;",
		"waits for no slow reader":           "send_timeout 30s;",
		"ends before the pod is killed":      "worker_shutdown_timeout 22s;",
		"logs errors to stderr":              "error_log stderr warn;",
	} {
		if !strings.Contains(config, want) {
			t.Errorf("%s: %q is missing", name, want)
		}
	}
	for _, directive := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		if want := directive + "_temp_path"; !strings.Contains(config, want) {
			t.Errorf("%s is missing: nginx would write to the root file system", want)
		}
	}
	for _, unwanted := range []string{"autoindex", "if_not_owner"} {
		if strings.Contains(config, unwanted) {
			t.Errorf("the configuration contains %q", unwanted)
		}
	}
	if got := strings.Count(config, "proxy_pass "); got != 1 {
		t.Errorf("nginx is a proxy in %d places, want that to the agent only", got)
	}
	// nginx must not read a file of the repository as configuration.
	if got := strings.Count(config, "include "); got != 2 {
		t.Errorf("%d files are included, want those for IPv6 only", got)
	}
	if strings.Contains(config, "<no value>") || strings.Contains(config, "{{") {
		t.Error("the template is not fully rendered")
	}
}

func TestNginxServes(t *testing.T) {
	s := startNginx(t)

	t.Run("nothing before the first commit", func(t *testing.T) {
		response, body := s.get(s.http, "/")
		if response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "Not published yet") {
			t.Errorf("GET / = %d %q", response.StatusCode, body)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "Retry-After": "10", "Cache-Control": "no-store", "ETag": "",
			"Website-Commit": "",
		} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s = %q, want %q", name, got, want)
			}
		}
	})

	s.write(commitA, "index.html", "home of a")
	s.write(commitA, "404.html", "not here")
	s.write(commitA, "sub/index.html", "sub of a")
	s.write(commitA, ".git", "gitdir: somewhere")
	s.write(commitA, ".env", "SECRET=1")
	s.write(commitA, "sub/.git/config", "[core]")
	s.write(commitA, ".well-known/security.txt", "contact")
	s.write(commitA, ".well-known/.git", "gitdir: somewhere")
	s.write(commitA, "sub/.well-known/security.txt", "contact")
	s.mkdir("releases/" + commitA + "/empty")
	s.write(commitB, "index.html", "home of b")
	s.link(commitA, "passwd", "/etc/passwd")
	s.link(commitA, "etc", "/etc")
	s.link(commitA, "inside", "index.html")
	s.publish("releases/" + commitA)

	t.Run("the published commit", func(t *testing.T) {
		s.want(s.http, "/", http.StatusOK, "home of a")
		s.want(s.http, "/index.html?v=1", http.StatusOK, "home of a")
		s.want(s.http, "/sub/", http.StatusOK, "sub of a")
		for _, path := range []string{"/", "/missing", "/sub"} {
			if response, _ := s.get(s.http, path); response.Header.Get("Website-Commit") != commitA {
				t.Errorf("GET %s: Website-Commit = %q", path, response.Header.Get("Website-Commit"))
			}
		}
		response, _ := s.get(s.http, "/")
		if server := response.Header.Get("Server"); server != "nginx" {
			t.Errorf("Server = %q, want no version", server)
		}
	})
	t.Run("its own page for what is missing", func(t *testing.T) {
		for _, path := range []string{"/missing", "/empty/", "/sub/missing", "/.git", "/passwd", "/etc/"} {
			s.want(s.http, path, http.StatusNotFound, "not here")
		}
	})
	t.Run("no dot files", func(t *testing.T) {
		for _, path := range []string{"/.git", "/.env", "/sub/.git/config", "/%2egit", "/sub/../.git", "/.well-known"} {
			s.want(s.http, path, http.StatusNotFound, "")
		}
		s.want(s.http, "/.well-known/security.txt", http.StatusOK, "contact")
		s.want(s.http, "/.well-known/.git", http.StatusNotFound, "not here")
		s.want(s.http, "/sub/.well-known/security.txt", http.StatusNotFound, "not here")
	})
	t.Run("no links", func(t *testing.T) {
		for _, path := range []string{"/passwd", "/etc/passwd", "/inside"} {
			s.want(s.http, path, http.StatusNotFound, "")
		}
	})
	t.Run("no other commit by its path", func(t *testing.T) {
		s.want(s.http, "/"+commitB+"/index.html", http.StatusNotFound, "")
		s.want(s.http, "/../"+commitB+"/index.html", http.StatusBadRequest, "")
	})
	t.Run("relative redirects", func(t *testing.T) {
		response, _ := s.get(s.http, "/sub")
		if response.StatusCode != http.StatusMovedPermanently || response.Header.Get("Location") != "/sub/" {
			t.Errorf("GET /sub = %d to %q", response.StatusCode, response.Header.Get("Location"))
		}
		if response, _ := s.get(s.http, "/sub?a=b"); response.Header.Get("Location") != "/sub/?a=b" {
			t.Errorf("GET /sub?a=b is sent to %q", response.Header.Get("Location"))
		}
	})
	t.Run("the next commit at once", func(t *testing.T) {
		s.publish("releases/" + commitB)
		s.want(s.http, "/", http.StatusOK, "home of b")
		s.want(s.admin, "/commit", http.StatusOK, commitB+"\n")
	})
	t.Run("nothing through a link to elsewhere", func(t *testing.T) {
		s.mkdir("releases/short")
		s.mkdir("releases/" + commitA + "/" + commitA)
		for _, target := range []string{"/etc", "/", ".", "releases", "releases/short", "releases/" + commitA + "/sub",
			"releases/" + commitA + "/" + commitA, "gone"} {
			s.publish(target)
			s.want(s.http, "/", http.StatusServiceUnavailable, "")
			s.want(s.http, "/passwd", http.StatusServiceUnavailable, "")
			s.want(s.http, "/"+commitA+"/index.html", http.StatusServiceUnavailable, "")
			s.want(s.admin, "/readyz", http.StatusServiceUnavailable, "")
		}
		for _, tag := range []string{`""`, tagOf("")} {
			if response, _ := s.get(s.http, "/", "If-None-Match", tag); response.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("with the ETag %s of no commit: %d", tag, response.StatusCode)
			}
		}
	})
}

// TestNginxNeverMixesCommits requests pages while commits are switched: every response must be
// complete, and have the ETag of its content.
func TestNginxNeverMixesCommits(t *testing.T) {
	s := startNginx(t)
	s.write(commitA, "index.html", commitA)
	s.write(commitB, "index.html", commitB)
	s.publish("releases/" + commitA)

	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			for _, commit := range []string{commitB, commitA} {
				select {
				case <-stop:
					return
				default:
					s.publish("releases/" + commit)
				}
			}
		}
	}()
	// Both commits must be observed, even on a busy machine.
	const patience = 30 * time.Second
	seen := map[string]int{}
	for begin := time.Now(); seen[commitA]+seen[commitB] < 500 || len(seen) < 2; {
		if t.Failed() || time.Since(begin) > patience {
			break
		}
		// nginx redirects "/" internally to its index file: between the two, the commit could change.
		response, body := s.get(s.http, "/")
		if response.StatusCode != http.StatusOK || response.Header.Get("ETag") != tagOf(body) ||
			response.Header.Get("Website-Commit") != body {
			t.Errorf("status %d, ETag %s, commit %s, content of %s", response.StatusCode, response.Header.Get("ETag"),
				response.Header.Get("Website-Commit"), body)
		}
		seen[body]++
	}
	close(stop)
	<-stopped
	if seen[commitA] == 0 || seen[commitB] == 0 {
		t.Errorf("of %v both were to be seen", seen)
	}
}
