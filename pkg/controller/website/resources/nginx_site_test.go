package resources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
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

// nginxBinary returns the path of nginx. Neither the module nor Go contains one, so a machine without
// it tests only the text.
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

// testSite is a running nginx over a directory like the agent's.
type testSite struct {
	t    *testing.T
	root string
	// http and admin are the servers, as the host of a URL.
	http, admin string
	// sockets is the folder of their sockets.
	sockets string
	// users is the file with the users of a protected site.
	users string
	// limits are the limits of its connections.
	limits connectionLimits
	// master is the parent process of the workers.
	master int
	client *http.Client
}

// dateOf returns the time that the agent sets on a file.
func dateOf(content string) time.Time {
	return time.Unix(int64(crc32.ChecksumIEEE([]byte(content))>>2), 0)
}

// tagOf returns the ETag of a file.
func tagOf(content string) string {
	return fmt.Sprintf(`"%x-%x"`, dateOf(content).Unix(), len(content))
}

// writeFile writes a file as the agent does.
func (s *testSite) writeFile(path, content string) {
	s.t.Helper()
	date := dateOf(content)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644),
		os.Chtimes(path, date, date)); err != nil {
		s.t.Fatal(err)
	}
}

// startNginx serves a Website, changed by tweaks.
func startNginx(t *testing.T, tweaks ...func(*v1beta1.Website)) *testSite {
	t.Helper()
	return startNginxWith(t, func(*nginxParameters) {}, tweaks...)
}

// startNginxWith also changes parameters that do not depend on a Website.
func startNginxWith(t *testing.T, change func(*nginxParameters), tweaks ...func(*v1beta1.Website)) *testSite {
	t.Helper()
	binary := nginxBinary(t)
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// A master that runs as root starts its workers as another user, who needs access to the folder.
	for path := folder; path != "/" && path != os.TempDir(); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &testSite{
		t:       t,
		root:    filepath.Join(folder, "root"),
		http:    "site",
		admin:   "admin",
		sockets: socketFolder(t),
		users:   filepath.Join(folder, "users"),
	}
	s.client = &http.Client{
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			// Responses are not decompressed, unless a test asks otherwise.
			DisableCompression: true,
			DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", s.socket(strings.TrimSuffix(address, ":80")))
			},
		},
	}
	s.mkdir("releases")
	s.mkdir("assets")
	website := newWebsite(tweaks...)
	serving, err := newServing(website)
	if err != nil {
		t.Fatal(err)
	}
	parameters := nginxParameters{
		Root: s.root, Link: siteLink, StatusURL: "http://unix:" + s.socket("agent") + ":/status",
		HTTPListen: "unix:" + s.socket(s.http), AdminListen: "unix:" + s.socket(s.admin),
		TempDir: filepath.Join(folder, "tmp"), AccessLog: filepath.Join(folder, "access.log"),
		RequestsLog: filepath.Join(folder, "requests"),
		Workers:     2, ShutdownSeconds: shutdownSeconds, Serving: serving,
		Limits: newConnectionLimits(website),
	}
	if isProtected(website) {
		parameters.UsersFile = s.users
	}
	change(&parameters)
	s.limits = parameters.Limits
	config, err := renderNginx(parameters)
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

	if output, err := exec.CommandContext(t.Context(), binary, "-t", "-e", "stderr", "-c",
		file).CombinedOutput(); err != nil {
		t.Fatalf("nginx -t: %v\n%s", err, output)
	}

	var log bytes.Buffer
	process := exec.Command(binary, "-e", "stderr", "-c", file)
	process.Stderr = &log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	s.master = process.Process.Pid
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
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
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true,
		func(ctx context.Context) (bool, error) {
			connection, err := (&net.Dialer{}).DialContext(ctx, "unix", s.socket(s.admin))
			if err != nil {
				return false, nil
			}
			return true, connection.Close()
		})
	if err != nil {
		t.Fatalf("nginx did not listen: %v", err)
	}
	// It can be stopped once its workers answer.
	s.want(s.admin, "/", http.StatusNotFound, "")
	return s
}

// socketFolder is for the sockets of nginx. A free port may be in use by another program by the time
// nginx listens on it; a file is not. The path of a socket is short, so it cannot be in the folder of
// a test.
func socketFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "nginx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// socket returns the path of the socket of a server.
func (s *testSite) socket(server string) string { return filepath.Join(s.sockets, server) }

func (s *testSite) mkdir(name string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Join(s.root, name), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// write adds a file to the release of a commit.
func (s *testSite) write(commit, name, content string) {
	s.t.Helper()
	s.writeFile(filepath.Join(s.root, "releases", commit, name), content)
}

// link adds a symbolic link to the release of a commit.
func (s *testSite) link(commit, name, target string) {
	s.t.Helper()
	if err := os.Symlink(target, filepath.Join(s.root, "releases", commit, name)); err != nil {
		s.t.Fatal(err)
	}
}

// publish replaces the link like the agent: by a rename.
func (s *testSite) publish(target string) {
	s.t.Helper()
	temporary := filepath.Join(s.root, "tmp-link")
	if err := os.Symlink(target, temporary); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(s.root, siteLink)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *testSite) get(address, path string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	return s.do(http.MethodGet, address, path, headers...)
}

// do sends a request. The headers are names and values in turn.
func (s *testSite) do(method, address, path string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+address+path, nil)
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
	defer func() { _ = response.Body.Close() }()
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
