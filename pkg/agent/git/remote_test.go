package git

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fault answers a request in the place of git.
type fault func(w http.ResponseWriter, r *http.Request, git http.Handler)

// server serves the repositories of a directory over HTTP.
type server struct {
	*httptest.Server
	dir  string
	git  http.Handler
	user string

	mu       sync.Mutex
	fault    fault
	requests []string
	// authorized are the paths of repositories to which a password was sent.
	authorized []string
	sent       int64
}

// execPath is the directory of git's programs.
var execPath = sync.OnceValue(func() string {
	output, _ := exec.Command("git", "--exec-path").Output()
	return strings.TrimSpace(string(output))
})

// serve serves the repositories next to an origin.
func (o *origin) serve(how ...func(*server)) *server {
	o.t.Helper()
	s := &server{dir: filepath.Dir(o.dir)}
	s.git = &cgi.Handler{
		// git would start it as another process.
		Path: filepath.Join(execPath(), "git-http-backend"), Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + s.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent"},
	}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = nil
	for _, f := range how {
		f(s)
	}
	if s.URL == "" {
		s.Start()
	}
	o.t.Cleanup(s.stop)
	return s
}

func (s *server) stop() { s.CloseClientConnections(); s.Close() }

// overTLS has a server use TLS, withPassword require a password below /private/.
func overTLS(s *server)          { s.StartTLS() }
func withPassword(s *server)     { s.user = "reader" }
func with(f fault) func(*server) { return func(s *server) { s.fault = f } }

// url is the address of an origin.
func (s *server) url(o *origin) string {
	path, err := filepath.Rel(s.dir, o.dir)
	if err != nil {
		o.t.Fatal(err)
	}
	return s.URL + "/" + path
}

// caFile is a file with the certificate of the server.
func (s *server) caFile(t *testing.T) string {
	t.Helper()
	return writeFile(t, pemOf(s.Certificate().Raw))
}

type countedWriter struct {
	http.ResponseWriter
	server *server
}

func (c countedWriter) Write(data []byte) (int, error) {
	n, err := c.ResponseWriter.Write(data)
	c.server.mu.Lock()
	c.server.sent += int64(n)
	c.server.mu.Unlock()
	return n, err
}

func (c countedWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	repository, _, _ := strings.Cut(r.URL.Path, ".git/")
	user, password, hasPassword := r.BasicAuth()
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	if hasPassword && !slices.Contains(s.authorized, repository) {
		s.authorized = append(s.authorized, repository)
	}
	answer := s.fault
	s.mu.Unlock()
	if s.user != "" && strings.HasPrefix(r.URL.Path, "/private/") && (user != s.user || password != "secret % \\") {
		w.Header().Set("WWW-Authenticate", "Basic realm=x")
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	w = countedWriter{w, s}
	if answer == nil {
		s.git.ServeHTTP(w, r)
		return
	}
	answer(w, r, s.git)
}

// set changes or ends the fault, and clears all counters.
func (s *server) set(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.sent, s.requests, s.authorized = f, 0, nil, nil
}

func (s *server) bytes() int64 { s.mu.Lock(); defer s.mu.Unlock(); return s.sent }

// posts is the number of requests for objects.
func (s *server) posts() (count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, request := range s.requests {
		if strings.HasPrefix(request, "POST") {
			count++
		}
	}
	return count
}

// answers is a fault: always the same answer.
func answersWith(code int, header, body string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		name, value, _ := strings.Cut(header, ": ")
		w.Header().Set(name, value)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// packs is a fault of the answers with objects only.
func packs(what fault) fault {
	return func(w http.ResponseWriter, r *http.Request, git http.Handler) {
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil || !bytes.Contains(body, []byte("command=fetch")) {
			git.ServeHTTP(w, r)
			return
		}
		what(w, r, git)
	}
}

// without hides a capability of the server.
func without(capability string) fault {
	hidden := strings.Repeat("x", len(capability))
	return func(w http.ResponseWriter, r *http.Request, git http.Handler) {
		recorded := httptest.NewRecorder()
		git.ServeHTTP(recorded, r)
		for name, values := range recorded.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorded.Code)
		body := recorded.Body.Bytes()
		if strings.HasSuffix(r.URL.Path, "/info/refs") {
			body = bytes.ReplaceAll(body, []byte(capability), []byte(hidden))
		}
		_, _ = w.Write(body)
	}
}

// dumb serves the files of the repositories only.
func dumb(s *server) {
	s.fault = func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.FileServer(http.Dir(s.dir)).ServeHTTP(w, r)
	}
}

// newRepository opens a repository in a new directory.
func newRepository(t *testing.T, url string, tweaks ...func(*Options)) *Repository {
	t.Helper()
	options := Options{Dir: filepath.Join(t.TempDir(), "git"), URL: url, Submodules: SubmodulesNone,
		Timeout: 30 * time.Second}
	for _, tweak := range tweaks {
		tweak(&options)
	}
	if err := os.MkdirAll(options.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ofPath(path string) func(*Options) { return func(o *Options) { o.Path = path } }
func withModules(policy SubmodulePolicy) func(*Options) {
	return func(o *Options) { o.Submodules = policy }
}
func within(timeout time.Duration) func(*Options) { return func(o *Options) { o.Timeout = timeout } }
func withRoom(bytes int64) func(*Options) {
	return func(o *Options) { o.Room = func() (int64, error) { return bytes, nil } }
}

// sync fetches and checks out, and returns the files of the worktree.
func (r *Repository) sync(t *testing.T, ref string) (*Tree, files) {
	t.Helper()
	tree, err := r.Fetch(t.Context(), ref)
	if err == nil {
		err = r.Checkout(t.Context(), tree)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, errText(err))
	}
	return tree, readFiles(t, r.Worktree())
}

// fork returns a repository at another address with the same files and state.
func (r *Repository) fork(t *testing.T, url string) *Repository {
	t.Helper()
	forked := newRepository(t, url, func(o *Options) {
		dir := o.Dir
		*o = r.Options
		o.Dir, o.URL = dir, url
	})
	if output, err := exec.Command("cp", "--archive", r.Dir+"/.", forked.Dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	forked.full, forked.checkedOut, forked.needed = r.full, r.checkedOut, r.needed
	return forked
}

// readFiles returns the files below a directory.
func readFiles(t *testing.T, dir string) files {
	t.Helper()
	found := files{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if entry.Type()&os.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			found[name] = "-> " + target
			return err
		}
		data, err := os.ReadFile(path)
		found[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// writeFile writes a file that only its owner may read, as ssh wants its keys.
func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
