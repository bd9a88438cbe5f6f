package git

import (
	"bytes"
	"fmt"
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

// files are the content of a commit by path. "-> x" is a symbolic link to x, "@x" a submodule at the commit x.
type files map[string]string

// origin is a bare repository to fetch from.
type origin struct {
	t      *testing.T
	dir    string
	format string
	time   int
}

func newOrigin(t *testing.T, settings ...string) *origin {
	t.Helper()
	return newOriginAt(t, filepath.Join(t.TempDir(), "site.git"), "sha1", settings...)
}

func newOriginAt(t *testing.T, dir, format string, settings ...string) *origin {
	t.Helper()
	o := &origin{t: t, dir: dir, format: format, time: 1_700_000_000}
	o.git(nil, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--object-format="+format, dir)
	config, err := os.OpenFile(filepath.Join(dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = config.Close() }()
	for _, setting := range append([]string{"uploadpack.allowFilter=true"}, settings...) {
		key, value, _ := strings.Cut(setting, "=")
		section, name, _ := strings.Cut(key, ".")
		if _, err := fmt.Fprintf(config, "[%s]\n%s = %s\n", section, name, value); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

func (o *origin) command(args ...string) *exec.Cmd {
	command := exec.Command("git", args...)
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C", "GIT_DIR=" + o.dir,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	return command
}

func (o *origin) git(stdin io.Reader, args ...string) string {
	o.t.Helper()
	command := o.command(args...)
	command.Stdin = stdin
	output, err := command.CombinedOutput()
	if err != nil {
		o.t.Fatalf("git %q: %v: %s", args, err, output)
	}
	return strings.TrimSpace(string(output))
}

// commit replaces the content of a branch, and returns its commit.
func (o *origin) commit(content files) string { o.t.Helper(); return o.commitTo("main", content) }

func (o *origin) commitTo(branch string, content files) string {
	o.t.Helper()
	var stream bytes.Buffer
	o.writeCommit(&stream, branch, true, content)
	o.git(&stream, "fast-import", "--quiet", "--force")
	return o.git(nil, "rev-parse", "refs/heads/"+branch)
}

// writeCommit writes a commit for fast-import. One that does not replace the content adds to it.
func (o *origin) writeCommit(w io.Writer, branch string, replace bool, content files) {
	o.time++
	fmt.Fprintf(w, "commit refs/heads/%s\ncommitter a <a@example.com> %d +0000\ndata 1\nx\n", branch, o.time)
	if replace {
		fmt.Fprint(w, "deleteall\n")
	}
	for name, text := range content {
		mode := "100644"
		if target, isLink := strings.CutPrefix(text, "-> "); isLink {
			mode, text = "120000", target
		}
		if commit, isModule := strings.CutPrefix(text, "@"); isModule {
			fmt.Fprintf(w, "M 160000 %s %q\n", commit, name)
			continue
		}
		fmt.Fprintf(w, "M %s inline %q\ndata %d\n%s\n", mode, name, len(text), text)
	}
	fmt.Fprintln(w)
}

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

// serve serves the repositories next to an origin.
func (o *origin) serve(how ...func(*server)) *server {
	o.t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		o.t.Fatal(err)
	}
	s := &server{dir: filepath.Dir(o.dir)}
	s.git = &cgi.Handler{
		Path: path, Args: []string{"http-backend"}, Stderr: io.Discard,
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
