package gitserver

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serve starts a server with a public and a private repository and returns its URL, the
// directory of repositories and the commit that both hold.
func serve(t *testing.T) (url, dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	credentials := filepath.Join(t.TempDir(), "credentials")
	content := t.TempDir()
	for path, text := range map[string]string{credentials: "reader:secret\n",
		filepath.Join(content, "index.html"): "<p>hello</p>"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"site", "private/site"} {
		if _, err := Create(t.Context(), dir, name); err != nil {
			t.Fatal(err)
		}
		var err error
		if commit, err = Commit(t.Context(), dir, name, content, "Say hello"); err != nil {
			t.Fatal(err)
		}
	}
	handler, err := NewHandler(Options{Dir: dir, CredentialsFile: credentials})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL, dir, commit
}

// lsRemote sends a request as a client without a password prompt.
func lsRemote(t *testing.T, url string) (string, error) {
	t.Helper()
	return git(t.Context(), []string{"GIT_TERMINAL_PROMPT=0"}, "ls-remote", url, "HEAD")
}

func TestReading(t *testing.T) {
	url, dir, commit := serve(t)
	if out, err := lsRemote(t, url+"/site.git"); err != nil || len(out) < len(commit) {
		t.Errorf("ls-remote = %q, %v, want a commit", out, err)
	}
	private := url + "/private/site.git"
	for _, address := range []string{private, strings.Replace(private, "://", "://reader:wrong@", 1),
		url + "//private/site.git", url + "/x/../private/site.git"} {
		if out, err := lsRemote(t, address); err == nil {
			t.Errorf("%s is readable without its password: %s", address, out)
		}
	}
	if out, err := lsRemote(t, strings.Replace(private, "://", "://reader:secret@", 1)); err != nil ||
		!strings.HasPrefix(out, commit) {
		t.Errorf("with the password: %q, %v", out, err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	if _, err := git(t.Context(), nil, "clone", "--quiet", "--depth=1", url+"/site.git", clone); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(clone, "index.html")); err != nil || string(data) != "<p>hello</p>" {
		t.Errorf("cloned page = %q, %v", data, err)
	}
	if _, err := git(t.Context(), nil, "-C", clone, "push", "--quiet", "origin", "HEAD:refs/heads/other"); err == nil {
		t.Error("pushing over HTTP worked")
	}
	if _, err := git(t.Context(), nil, "-C", clone, "push", "--quiet", Path(dir, "site"),
		"HEAD:refs/heads/other"); err != nil {
		t.Errorf("pushing to the path: %v", err)
	}
}

func TestCommit(t *testing.T) {
	_, dir, first := serve(t)
	content := t.TempDir()
	if err := os.WriteFile(filepath.Join(content, "index.html"), []byte("<p>hello</p>"), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Commit(t.Context(), dir, "private/site", content, "The same")
	if err != nil || again != first {
		t.Errorf("committing the same content = %s, %v, want %s", again, err, first)
	}
	if err := os.WriteFile(filepath.Join(content, "about.html"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := Commit(t.Context(), dir, "private/site", content, "More")
	if err != nil || second == first {
		t.Fatalf("committing other content = %s, %v", second, err)
	}
	if parent, err := git(t.Context(), nil, "--git-dir="+Path(dir, "private/site"), "rev-parse", second+"^"); err != nil ||
		parent != first {
		t.Errorf("its parent is %s (%v), want %s", parent, err, first)
	}
}

func TestCreateRefusesOtherPlaces(t *testing.T) {
	for _, name := range []string{"", "../x", "a/b", "private/", "private", "-x", "private/../x"} {
		if path, err := Create(t.Context(), t.TempDir(), name); err == nil {
			t.Errorf("%q was made at %s", name, path)
		}
	}
}
