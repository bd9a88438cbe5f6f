package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

// repository is a git repository on the cluster's server, with a clone that the
// test works in.
type repository struct {
	// url is the URL from which pods fetch.
	url string
	// ca is the name of a ConfigMap with the CA of its server, or empty.
	ca string
	// path is the directory of the bare repository.
	path string
	// clone is the directory of the working copy.
	clone string
	// branch is the current branch.
	branch string
	// markers are the markers in the files of each commit, see release.
	markers map[string]string
}

// newRepository makes an empty repository whose HEAD names a branch. It is
// named like the namespace of the test, after an area such as "private/".
func newRepository(t *testing.T, area, namespace, branch string) *repository {
	t.Helper()
	path, err := framework.Cluster.CreateRepository(t.Context(), area+namespace)
	if err != nil {
		t.Fatal(err)
	}
	r := &repository{
		url: framework.Cluster.GitServerURL() + "/" + area + namespace + ".git", path: path,
		clone: t.TempDir(), branch: branch, markers: map[string]string{},
	}
	r.git(t, "init", "--quiet", "--template=", "--initial-branch="+branch)
	r.git(t, "remote", "add", "origin", path)
	r.setHead(t, branch)
	return r
}

// useSHA256 converts the repository to SHA-256 objects. It must have no commits.
func (r *repository) useSHA256(t *testing.T) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(r.path), os.RemoveAll(filepath.Join(r.clone, ".git"))); err != nil {
		t.Fatal(err)
	}
	format := []string{"init", "--quiet", "--template=", "--object-format=sha256", "--initial-branch=" + r.branch}
	r.git(t, format...)
	r.git(t, append(format, "--bare", r.path)...)
	r.git(t, "remote", "add", "origin", r.path)
}

// setHead makes a branch the default one.
func (r *repository) setHead(t *testing.T, branch string) {
	t.Helper()
	r.git(t, "--git-dir="+r.path, "symbolic-ref", "HEAD", "refs/heads/"+branch)
}

// git runs git in the clone, free of the user's settings.
func (r *repository) git(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = r.clone
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=e2e", "GIT_AUTHOR_EMAIL=e2e@localhost", "GIT_COMMITTER_NAME=e2e",
		"GIT_COMMITTER_EMAIL=e2e@localhost",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// write replaces the content of the clone, by path.
func (r *repository) write(t *testing.T, files map[string]string) {
	t.Helper()
	r.git(t, "rm", "-r", "-f", "--quiet", "--ignore-unmatch", ".")
	for name, content := range files {
		path := filepath.Join(r.clone, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.git(t, "add", "--all", ".")
}

// push commits the staged files, pushes them and returns the commit.
func (r *repository) push(t *testing.T, message string) string {
	t.Helper()
	r.git(t, "commit", "--quiet", "--allow-empty", "-m", message)
	commit := r.git(t, "rev-parse", "HEAD")
	r.git(t, "push", "--quiet", "origin", "HEAD:refs/heads/"+r.branch)
	return commit
}

// release pushes the files of release for a marker.
func (r *repository) release(t *testing.T, marker string, args ...string) string {
	t.Helper()
	r.write(t, release(marker))
	// The marker is recorded before the commit can be fetched.
	r.git(t, "commit", "--quiet", "-m", marker)
	commit := r.git(t, "rev-parse", "HEAD")
	r.markers[commit] = marker
	r.git(t, append([]string{"push", "--quiet", "origin", "HEAD:refs/heads/" + r.branch}, args...)...)
	return commit
}

// makeUnreachable makes the repository unreachable until the returned function is called.
func (r *repository) makeUnreachable(t *testing.T) (back func()) {
	t.Helper()
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(r.path, r.path+".away")
	return func() { move(r.path+".away", r.path) }
}
