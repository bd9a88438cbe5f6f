package main

import (
	"bytes"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// files maps the paths in a commit to their content. The content "@HASH" stands for a submodule at the commit HASH.
type files map[string]string

// remote is a bare repository that is served over HTTP.
type remote struct {
	t   *testing.T
	dir string
	url string
	git http.Handler

	mu sync.Mutex
	// Clients must send user and password, unless user is empty.
	user, password string
	fault          fault
	contacts       int
}

// fault answers a request in place of git.
type fault func(w http.ResponseWriter, r *http.Request, git http.Handler)

func newRemote(t *testing.T) *remote { return newRemoteOf(t, "sha1") }

func newRemoteOf(t *testing.T, format string) *remote {
	t.Helper()
	r := &remote{t: t, dir: filepath.Join(t.TempDir(), "site.git")}
	r.run("init", "--quiet", "--bare", "--template=", "--initial-branch=main", "--object-format="+format, r.dir)
	// Compression of random bytes takes time and saves no space.
	config := "[core]\nbare = true\nrepositoryFormatVersion = 1\ncompression = 0\nbigFileThreshold = 10k\n" +
		"[extensions]\nobjectFormat = " + format + "\n[uploadpack]\nallowFilter = true\n"
	if err := os.WriteFile(filepath.Join(r.dir, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r.git = &cgi.Handler{
		// git would start it as another process.
		Path: filepath.Join(r.run("--exec-path"), "git-http-backend"), Stderr: io.Discard, Logger: log.New(io.Discard, "", 0),
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Dir(r.dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=/nonexistent",
		},
	}
	server := httptest.NewServer(r)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	r.url = server.URL + "/site.git"
	return r
}

// overTLS serves the repository over https, which passwords require, and returns the CA.
func (r *remote) overTLS() (ca string) {
	server := httptest.NewTLSServer(r)
	r.t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	r.url = server.URL + "/site.git"
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

func (r *remote) run(args ...string) string { r.t.Helper(); return r.runWith(nil, args...) }

func (r *remote) runWith(stdin io.Reader, args ...string) string {
	r.t.Helper()
	command := exec.Command("git", args...)
	command.Stdin = stdin
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_DIR=" + r.dir,
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com",
	}
	output, err := command.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v: %s", args, err, output)
	}
	return strings.TrimSpace(string(output))
}

// push commits a page and other files to the branch main, and deletes all earlier files. It returns the
// commit, whose subject is the page.
func (r *remote) push(page string, more ...files) (commit string) {
	r.t.Helper()
	return r.pushBelow("", page, more...)
}

func (r *remote) pushBelow(dir, page string, more ...files) (commit string) {
	r.t.Helper()
	var stream bytes.Buffer
	fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter t <t@example.com> now\ndata %d\n%s\n", len(page), page)
	main := filepath.Join(r.dir, "refs/heads/main")
	if parent, err := os.ReadFile(main); err == nil {
		fmt.Fprintf(&stream, "from %s", parent)
	}
	stream.WriteString("deleteall\n")
	for _, content := range append(more, files{dir + "index.html": page, dir + "large.txt": large(page)}) {
		for name, text := range content {
			if module, isModule := strings.CutPrefix(text, "@"); isModule && requests.IsCommit(module) {
				fmt.Fprintf(&stream, "M 160000 %s %q\n", module, name)
				continue
			}
			fmt.Fprintf(&stream, "M 100644 inline %q\ndata %d\n%s\n", name, len(text), text)
		}
	}
	r.runWith(&stream, "fast-import", "--quiet", "--force", "--date-format=now")
	pushed, err := os.ReadFile(main)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(string(pushed))
}

// large returns the content of a second file in the release of a page.
func large(page string) string { return strings.Repeat(page+"\n", 1000) }

// random returns incompressible bytes.
func random(size int) string {
	data := make([]byte, size)
	_, _ = rand.Read(data)
	return string(data)
}

func (r *remote) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	if strings.HasSuffix(request.URL.Path, "/info/refs") {
		r.contacts++
	}
	answer, wantUser, wantPassword := r.fault, r.user, r.password
	r.mu.Unlock()
	if user, password, _ := request.BasicAuth(); wantUser != "" && (user != wantUser || password != wantPassword) {
		w.Header().Set("WWW-Authenticate", "Basic realm=x")
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	if answer == nil {
		r.git.ServeHTTP(w, request)
		return
	}
	answer(w, request, r.git)
}

// set sets or clears the fault.
func (r *remote) set(f fault) { r.mu.Lock(); defer r.mu.Unlock(); r.fault = f }

func (r *remote) require(user, password string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.user, r.password = user, password
}

// fetches returns the number of fetches by clients.
func (r *remote) fetches() int { r.mu.Lock(); defer r.mu.Unlock(); return r.contacts }

func answersWith(code int, header, body string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		name, value, _ := strings.Cut(header, ": ")
		w.Header().Set(name, value)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

var notFound = answersWith(http.StatusNotFound, "Content-Type: text/plain", "Repository not found.\n")

// silent sends no response and waits until the client closes the request.
func silent(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// oldProtocol serves only version 0 of the git protocol, in which clients can fetch only commits that a
// reference names.
func oldProtocol(w http.ResponseWriter, r *http.Request, git http.Handler) {
	r.Header.Del("Git-Protocol")
	git.ServeHTTP(w, r)
}

// hold delays the responses to ls-refs until end is called. It closes began when it delays the first
// response.
func (r *remote) hold() (began <-chan struct{}, end func()) {
	held, over := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r.set(func(w http.ResponseWriter, request *http.Request, git http.Handler) {
		body, err := io.ReadAll(request.Body)
		request.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil || !bytes.Contains(body, []byte("command=ls-refs")) {
			git.ServeHTTP(w, request)
			return
		}
		recorded := httptest.NewRecorder()
		git.ServeHTTP(recorded, request)
		once.Do(func() { close(held) })
		select {
		case <-over:
		case <-request.Context().Done():
		}
		for name, values := range recorded.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorded.Code)
		_, _ = w.Write(recorded.Body.Bytes())
	})
	return held, func() { r.set(nil); close(over) }
}

// hosts counts the addresses of unusedAddress.
var hosts atomic.Uint32

// unusedAddress returns an address that refuses connections. It is not on 127.0.0.1, where another program could open
// the port meanwhile, but on a loopback address that only this test uses.
func unusedAddress() string {
	pid, host := os.Getpid(), hosts.Add(1)
	return fmt.Sprintf("127.%d.%d.%d:8083", 1+(pid>>8)%250, pid%256, 1+host%250)
}
