package resources

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func TestNginxConfigFacts(t *testing.T) {
	config := mustNginxConfig(t, newWebsite())
	for name, want := range map[string]string{
		"stays in the foreground":             "daemon off;",
		"listens for the Service":             "listen 8080 default_server;",
		"listens for the kubelet":             "listen 8081 default_server;",
		"takes only worktrees":                `"~^/git/root/\.worktrees/(?<worktree>[0-9a-f]{40}(?:[0-9a-f]{24})?)$" $worktree;`,
		"serves under a literal prefix":       "root /git/root/.worktrees/$served;",
		"follows no link out of the worktree": "disable_symlinks on from=/git/root/.worktrees/$served;",
		"hides dot files":                     `location ~ /\.(?!well-known/) {`,
		"redirects within the site":           "absolute_redirect off;",
		"does not tell its version":           "server_tokens off;",
		"caches no descriptors":               "open_file_cache off;",
		"keeps its pid in the temp folder":    "pid /tmp/nginx.pid;",
		"logs errors to stderr":               "error_log stderr warn;",
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
	for _, unwanted := range []string{"autoindex", "if_not_owner", "proxy_pass", "include "} {
		if strings.Contains(config, unwanted) {
			t.Errorf("the configuration contains %q", unwanted)
		}
	}
	if strings.Contains(config, "<no value>") || strings.Contains(config, "{{") {
		t.Error("the template is not fully rendered")
	}
}

// nginxBinary returns the nginx to test with. There is none in the module or in
// Go, so a machine without it tests only the text.
func nginxBinary(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("no nginx on PATH: install the package nginx to test how the configuration behaves")
	}
	return path
}

const (
	commitA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	commitB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// testSite is a running nginx over a folder that looks as git-sync leaves it.
type testSite struct {
	t           *testing.T
	root        string
	http, admin string
	client      *http.Client
}

// startNginx serves a Website, changed by tweaks.
func startNginx(t *testing.T, tweaks ...func(*v1beta1.Website)) *testSite {
	t.Helper()
	binary := nginxBinary(t)
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// A master that runs as root hands its workers to another user, who has to
	// reach the folder.
	for path := folder; path != "/" && path != os.TempDir(); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &testSite{
		t:     t,
		root:  filepath.Join(folder, "root"),
		http:  freeAddress(t),
		admin: freeAddress(t),
		client: &http.Client{
			Timeout:       10 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	s.mkdir(".worktrees")
	serving, err := newServing(newWebsite(tweaks...))
	if err != nil {
		t.Fatal(err)
	}
	config, err := renderNginx(nginxParameters{
		Root: s.root, Link: gitLink, HTTPListen: s.http, AdminListen: s.admin,
		TempDir: filepath.Join(folder, "tmp"), AccessLog: filepath.Join(folder, "access.log"), Serving: serving,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "nginx.conf")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}

	if output, err := exec.CommandContext(t.Context(), binary, "-t", "-e", "stderr", "-c", file).CombinedOutput(); err != nil {
		t.Fatalf("nginx -t: %v\n%s", err, output)
	}

	var log bytes.Buffer
	process := exec.Command(binary, "-e", "stderr", "-c", file)
	process.Stderr = &log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Process.Signal(syscall.SIGQUIT); err != nil {
			t.Errorf("stopping nginx: %v", err)
		}
		if err := process.Wait(); err != nil {
			t.Errorf("nginx ended with %v", err)
		}
		if t.Failed() {
			t.Logf("nginx logged:\n%s", log.String())
		}
	})
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.admin)
		if err != nil {
			return false, nil
		}
		return true, connection.Close()
	})
	if err != nil {
		t.Fatalf("nginx did not listen: %v", err)
	}
	return s
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func (s *testSite) mkdir(name string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Join(s.root, name), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// write adds a file to the worktree of a commit.
func (s *testSite) write(commit, name, content string) {
	s.t.Helper()
	path := filepath.Join(s.root, ".worktrees", commit, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// link adds a symbolic link to the worktree of a commit.
func (s *testSite) link(commit, name, target string) {
	s.t.Helper()
	if err := os.Symlink(target, filepath.Join(s.root, ".worktrees", commit, name)); err != nil {
		s.t.Fatal(err)
	}
}

// publish flips the link the way git-sync does: by a rename.
func (s *testSite) publish(target string) {
	s.t.Helper()
	temporary := filepath.Join(s.root, "tmp-link")
	if err := os.Symlink(target, temporary); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(s.root, gitLink)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *testSite) get(address, path string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, string(body)
}

func (s *testSite) want(address, path string, wantCode int, wantBody string) {
	s.t.Helper()
	response, body := s.get(address, path)
	if response.StatusCode != wantCode {
		s.t.Errorf("GET %s = %d, want %d", path, response.StatusCode, wantCode)
	}
	if wantBody != "" && body != wantBody {
		s.t.Errorf("GET %s = %q, want %q", path, body, wantBody)
	}
}

func TestNginxServes(t *testing.T) {
	s := startNginx(t)

	t.Run("nothing before the first commit", func(t *testing.T) {
		s.want(s.http, "/", http.StatusServiceUnavailable, "")
		s.want(s.admin, "/readyz", http.StatusServiceUnavailable, "no commit\n")
		s.want(s.admin, "/commit", http.StatusServiceUnavailable, "no commit\n")
	})

	s.write(commitA, "index.html", "home of a")
	s.write(commitA, "404.html", "not here")
	s.write(commitA, "sub/index.html", "sub of a")
	s.write(commitA, "app.mjs", "export {}")
	s.write(commitA, ".git", "gitdir: somewhere")
	s.write(commitA, ".env", "SECRET=1")
	s.write(commitA, "sub/.git/config", "[core]")
	s.write(commitA, ".well-known/security.txt", "contact")
	s.write(commitB, "index.html", "home of b")
	s.link(commitA, "passwd", "/etc/passwd")
	s.link(commitA, "etc", "/etc")
	s.link(commitA, "inside", "index.html")
	s.publish(".worktrees/" + commitA)

	t.Run("the published commit", func(t *testing.T) {
		s.want(s.http, "/", http.StatusOK, "home of a")
		s.want(s.http, "/index.html?v=1", http.StatusOK, "home of a")
		s.want(s.http, "/sub/", http.StatusOK, "sub of a")
		s.want(s.admin, "/readyz", http.StatusOK, "ok\n")
		s.want(s.admin, "/commit", http.StatusOK, commitA+"\n")
	})
	t.Run("its own page for what is missing", func(t *testing.T) {
		s.want(s.http, "/missing", http.StatusNotFound, "not here")
	})
	t.Run("media types", func(t *testing.T) {
		response, _ := s.get(s.http, "/app.mjs")
		if got, want := response.Header.Get("Content-Type"), "text/javascript"; got != want {
			t.Errorf("Content-Type = %q, want %q", got, want)
		}
	})
	t.Run("no dot files", func(t *testing.T) {
		for _, path := range []string{"/.git", "/.env", "/sub/.git/config", "/%2egit", "/sub/../.git", "/.well-known"} {
			s.want(s.http, path, http.StatusNotFound, "")
		}
		s.want(s.http, "/.well-known/security.txt", http.StatusOK, "contact")
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
	})
	t.Run("validators that all replicas share", func(t *testing.T) {
		response, _ := s.get(s.http, "/")
		tag := response.Header.Get("ETag")
		if want := fmt.Sprintf("W/%q", commitA); tag != want {
			t.Errorf("ETag = %q, want %q", tag, want)
		}
		if modified := response.Header.Get("Last-Modified"); modified != "" {
			t.Errorf("Last-Modified = %q, which differs between replicas", modified)
		}
		if server := response.Header.Get("Server"); server != "nginx" {
			t.Errorf("Server = %q", server)
		}
		if response, body := s.get(s.http, "/", "If-None-Match", tag); response.StatusCode != http.StatusNotModified || body != "" {
			t.Errorf("with the current ETag: %d %q", response.StatusCode, body)
		}
		if response, _ := s.get(s.http, "/", "If-None-Match", fmt.Sprintf("W/%q", commitB)); response.StatusCode != http.StatusOK {
			t.Errorf("with another ETag: %d", response.StatusCode)
		}
		if response, _ := s.get(s.http, "/", "If-Modified-Since", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)); response.StatusCode != http.StatusOK {
			t.Errorf("with If-Modified-Since: %d", response.StatusCode)
		}
	})
	t.Run("the next commit at once", func(t *testing.T) {
		s.publish(".worktrees/" + commitB)
		s.want(s.http, "/", http.StatusOK, "home of b")
		s.want(s.admin, "/commit", http.StatusOK, commitB+"\n")
		if response, _ := s.get(s.http, "/", "If-None-Match", fmt.Sprintf("W/%q", commitA)); response.StatusCode != http.StatusOK {
			t.Errorf("with the ETag of the previous commit: %d", response.StatusCode)
		}
	})
	t.Run("nothing through a link to elsewhere", func(t *testing.T) {
		s.mkdir(".worktrees/short")
		s.mkdir(".worktrees/" + commitA + "/" + commitA)
		for _, target := range []string{"/etc", "/", ".", ".worktrees", ".worktrees/short", ".worktrees/" + commitA + "/sub", ".worktrees/" + commitA + "/" + commitA, "gone"} {
			s.publish(target)
			s.want(s.http, "/", http.StatusServiceUnavailable, "")
			s.want(s.http, "/passwd", http.StatusServiceUnavailable, "")
			s.want(s.http, "/"+commitA+"/index.html", http.StatusServiceUnavailable, "")
			s.want(s.admin, "/readyz", http.StatusServiceUnavailable, "")
		}
		if response, _ := s.get(s.http, "/", "If-None-Match", `W/""`); response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("with an empty ETag: %d", response.StatusCode)
		}
	})
	t.Run("nothing else on the admin port", func(t *testing.T) {
		s.publish(".worktrees/" + commitA)
		for _, path := range []string{"/", "/index.html", "/readyz/"} {
			s.want(s.admin, path, http.StatusNotFound, "")
		}
		s.want(s.http, "/readyz", http.StatusNotFound, "")
	})
}

// TestNginxNeverMixesCommits requests pages while commits are flipped: every
// answer must be whole, and its ETag that of its content.
func TestNginxNeverMixesCommits(t *testing.T) {
	s := startNginx(t)
	s.write(commitA, "index.html", commitA)
	s.write(commitB, "index.html", commitB)
	s.publish(".worktrees/" + commitA)

	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			for _, commit := range []string{commitB, commitA} {
				select {
				case <-stop:
					return
				default:
					s.publish(".worktrees/" + commit)
				}
			}
		}
	}()
	seen := map[string]int{}
	for range 500 {
		// "/" takes an internal redirect to its index, the hardest case.
		response, body := s.get(s.http, "/")
		if response.StatusCode != http.StatusOK || response.Header.Get("ETag") != fmt.Sprintf("W/%q", body) {
			t.Errorf("status %d, ETag %s, content of %s", response.StatusCode, response.Header.Get("ETag"), body)
		}
		seen[body]++
	}
	close(stop)
	<-stopped
	if len(seen) != 2 {
		t.Logf("only one commit was seen: %v", seen)
	}
}
