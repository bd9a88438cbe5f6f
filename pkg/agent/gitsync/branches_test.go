package gitsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

func git(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	command := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, arguments...)...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", arguments, err, output)
	}
	return strings.TrimSpace(string(output))
}

// newRemote returns a repository with branches, of which HEAD is main, and its commit.
func newRemote(t *testing.T, branches ...string) (dir, commit string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on PATH")
	}
	dir = filepath.Join(t.TempDir(), "repo.git")
	git(t, t.TempDir(), "init", "--quiet", "--bare", "--initial-branch=main", dir)
	tree := git(t, dir, "hash-object", "-t", "tree", "-w", "/dev/null")
	commit = git(t, dir, "commit-tree", "-m", "first", tree)
	for _, branch := range append(branches, "main") {
		git(t, dir, "update-ref", "refs/heads/"+branch, commit)
	}
	git(t, dir, "tag", "feature/tag", commit)
	return dir, commit
}

func newLister(repository string, flags ...string) *Supervisor {
	return &Supervisor{Command: append([]string{"git-sync", "--repo=" + repository}, flags...), Timeout: 30 * time.Second, Clock: clock.RealClock{}}
}

func features(branch string) bool { return strings.HasPrefix(branch, "feature/") }

func names(found Branches) (names []string) {
	for _, branch := range found.List {
		names = append(names, branch.Name)
	}
	return names
}

func TestListBranches(t *testing.T) {
	dir, commit := newRemote(t, "feature/b", "feature/a", "other", "feature/ä", "x/feature/c")
	for name, test := range map[string]struct {
		head     bool
		wantHead string
	}{"branches alone": {false, ""}, "with HEAD": {true, "main"}} {
		t.Run(name, func(t *testing.T) {
			found, err := newLister("file://"+dir).ListBranches(t.Context(), features, test.head)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := names(found), []string{"feature/a", "feature/b", "feature/ä"}; !slices.Equal(got, want) || found.More || found.Head != test.wantHead {
				t.Errorf("listed %q, more %t, HEAD %q, want %q, HEAD %q", got, found.More, found.Head, want, test.wantHead)
			}
			if got := found.List[0].Commit; got != commit {
				t.Errorf("the commit is %q, want %q", got, commit)
			}
		})
	}
}

// TestListingFails: what cannot be listed is not empty.
func TestListingFails(t *testing.T) {
	empty := t.TempDir()
	git(t, empty, "init", "--quiet", "--bare", empty)
	for name, test := range map[string]struct {
		repository string
		want       Reason
	}{
		"no branches":   {"file://" + empty, ReasonRefNotFound},
		"no repository": {"file:///nowhere/secret.git", ReasonNotFound},
		"an option":     {"--upload-pack=touch /tmp/x", ReasonUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := newLister(test.repository).ListBranches(t.Context(), features, false)
			var failed *ListError
			if !errors.As(err, &failed) || failed.Reason != test.want && test.want != ReasonUnknown || len(found.List) > 0 {
				t.Fatalf("listed %+v, %v, want %s", found, err, test.want)
			}
			if strings.Contains(failed.Text, "://") {
				t.Errorf("the text has the address: %s", failed.Text)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newLister("file://"+empty).ListBranches(ctx, features, false); !errors.Is(err, context.Canceled) {
		t.Errorf("when the agent ends: %v", err)
	}
}

// serveGit serves a repository over HTTP to a user with a password.
func serveGit(t *testing.T, dir string) *httptest.Server {
	t.Helper()
	path := git(t, dir, "--exec-path")
	backend := &cgi.Handler{Path: filepath.Join(path, "git-http-backend"), Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(dir), "GIT_HTTP_EXPORT_ALL=1"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, ok := r.BasicAuth(); !ok || name != "us'er" || password != `pa$$ w"o\rd` {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestListBranchesWithCredentials(t *testing.T) {
	dir, _ := newRemote(t, "feature/a")
	server := serveGit(t, dir)
	secrets := filepath.Join(t.TempDir(), "it's")
	username, password := filepath.Join(secrets, "username"), filepath.Join(secrets, "password")
	if err := errors.Join(os.Mkdir(secrets, 0o755), os.WriteFile(username, []byte("us'er\n"), 0o600), os.WriteFile(password, []byte(`pa$$ w"o\rd`), 0o600)); err != nil {
		t.Fatal(err)
	}
	// One setting is there already, as in a pod.
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "http.lowSpeedLimit")
	t.Setenv("GIT_CONFIG_VALUE_0", "1")
	lister := newLister(server.URL+"/repo.git", "--password-file="+password)
	lister.UsernameFile = username
	found, err := lister.ListBranches(t.Context(), features, false)
	if err != nil || !slices.Equal(names(found), []string{"feature/a"}) {
		t.Errorf("listed %q, %v", names(found), err)
	}

	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, server.URL+r.URL.RequestURI(), http.StatusFound)
	}))
	defer elsewhere.Close()
	lister.Command[1] = "--repo=" + elsewhere.URL + "/repo.git"
	var failed *ListError
	if _, err := lister.ListBranches(t.Context(), features, false); !errors.As(err, &failed) || failed.Reason != ReasonAuthentication {
		t.Errorf("a redirect to another server has got the credentials: %v", err)
	}
	lister.UsernameFile, lister.Command[1] = "", "--repo="+server.URL+"/repo.git"
	if _, err := lister.ListBranches(t.Context(), features, false); !errors.As(err, &failed) || failed.Reason != ReasonAuthentication {
		t.Errorf("without credentials: %v", err)
	}
}

func TestSSHCommand(t *testing.T) {
	t.Setenv("GIT_SSH_COMMAND", "ssh -o ConnectTimeout=20")
	lister := newLister("git@example.com:a.git", "--ssh-key-file=/keys/id", "--ssh-known-hosts-file=/keys/known_hosts")
	want := "GIT_SSH_COMMAND=ssh -o ConnectTimeout=20 -o IdentitiesOnly=yes -i '/keys/id' -o StrictHostKeyChecking=yes -o UserKnownHostsFile='/keys/known_hosts'"
	if got := lister.credentialVariables(); !slices.Contains(got, want) {
		t.Errorf("the environment is %q, want %q", got, want)
	}
}

// TestListIsBounded: a server can send anything.
func TestListIsBounded(t *testing.T) {
	hash := strings.Repeat("a", 40)
	l := &listedBranches{match: features}
	write := func(text string) {
		t.Helper()
		// In parts that have nothing to do with lines.
		for part := range slices.Chunk([]byte(text), 7) {
			if _, err := l.Write(part); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := 2 * maxBranches; i > 0; i-- {
		write(fmt.Sprintf("%s\trefs/heads/feature/%03d\n", hash, i))
	}
	write(hash + "\trefs/heads/feature/" + strings.Repeat("x", 10*maxLine) + "\n")
	write("nonsense\n\n\t\t\nref: refs/heads/feature/0\trefs/heads/alias\n" + hash + "\trefs/heads/feature/000\n" + hash + "\trefs/heads/feature/000\n")
	list := l.branches.List
	if len(list) != maxBranches || !l.branches.More || list[0].Name != "feature/000" || list[maxBranches-1].Name != "feature/099" {
		t.Errorf("%d branches are kept, more %t: %v", len(list), l.branches.More, list)
	}
	if len(l.line) > 2*maxLine || l.branches.Head != "" {
		t.Errorf("%d bytes of a line are kept, HEAD %q", len(l.line), l.branches.Head)
	}
	l.read = maxListed
	if _, err := l.Write([]byte("x")); !errors.Is(err, errListTooLong) {
		t.Errorf("a list without an end: %v", err)
	}
}
