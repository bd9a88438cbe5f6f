// Package gitserver serves the git repositories of a directory, read-only. Over HTTP and
// HTTPS, repositories below "private" require a user and a password; others require none.
// Over ssh, all repositories require a key. To push, use the path of a repository on this
// machine.
package gitserver

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// PrivateArea is the directory, and the first part of the path, of repositories that
	// require a user and a password.
	PrivateArea = "private"
	// HealthPath answers 200 while the server runs.
	HealthPath = "/-/healthz"

	closeTimeout = 2 * time.Second
)

// Options configure a server.
type Options struct {
	// Address is the listening address, host:port.
	Address string
	// Dir is the directory of the repositories, each named NAME.git.
	Dir string
	// CredentialsFile holds "user:password" for the private area.
	CredentialsFile string
}

// Serve runs a server until ctx ends.
func Serve(ctx context.Context, o Options) error {
	handler, err := NewHandler(o)
	if err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", o.Address)
	if err != nil {
		return fmt.Errorf("listening for git clients: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = server.Shutdown(ctx)
	})
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving git repositories: %w", err)
	}
	return nil
}

// NewHandler serves the repositories with "git http-backend".
func NewHandler(o Options) (http.Handler, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("the tool \"git\" is missing in PATH: install it from your system's packages: %w", err)
	}
	credentials, err := os.ReadFile(o.CredentialsFile)
	if err != nil {
		return nil, fmt.Errorf("reading the credentials of private repositories: %w", err)
	}
	user, password, ok := strings.Cut(strings.TrimSpace(string(credentials)), ":")
	if !ok || user == "" || password == "" {
		return nil, fmt.Errorf("%s does not hold user:password", o.CredentialsFile)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolving the directory of repositories: %w", err)
	}
	backend := &cgi.Handler{
		Path: git,
		Args: []string{"http-backend"},
		Dir:  dir,
		Env: []string{
			"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1",
			// Git settings of the user or the system must not affect the served content.
			// safe.directory is set because the directory may belong to another user (sudo).
			"GIT_CONFIG_NOSYSTEM=1", "HOME=" + dir,
			"GIT_CONFIG_COUNT=2",
			"GIT_CONFIG_KEY_0=http.receivepack", "GIT_CONFIG_VALUE_0=false",
			"GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=*",
		},
	}
	return &handler{backend: backend, user: user, password: password}, nil
}

type handler struct {
	backend        http.Handler
	user, password string
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == HealthPath {
		return
	}
	if h.private(r.URL.Path) && !h.authenticates(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="private repositories"`)
		http.Error(w, "private repositories require a user and a password", http.StatusUnauthorized)
		return
	}
	h.backend.ServeHTTP(w, r)
}

// private reports whether a path is in the private area. It returns true for every path
// that is not clean, such as //private or /x/../private, because git resolves such paths.
func (h *handler) private(path string) bool {
	if clean := filepath.Clean("/" + path); clean != strings.TrimSuffix(path, "/") {
		return true
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return strings.EqualFold(first, PrivateArea)
}

func (h *handler) authenticates(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	return ok && subtle.ConstantTimeCompare([]byte(user), []byte(h.user)) == 1 &&
		subtle.ConstantTimeCompare([]byte(password), []byte(h.password)) == 1
}
