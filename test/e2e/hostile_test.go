package e2e

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestHostileLinks publishes a repository with links that lead out of it: none
// of them exposes a file of the pod. A link to a page is served.
func TestHostileLinks(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	r := newRepository(t, "", namespace, "main")
	r.write(t, map[string]string{"index.html": "a page\n", ".hidden": "a secret\n",
		".well-known/security.txt": "a contact\n"})
	for name, target := range map[string]string{
		"passwd": "/etc/passwd", "etc": "/etc", "root": "/", "environ": "/proc/self/environ",
		"config": "/etc/website/nginx.conf",
		"up":     "../../../../../etc/passwd", "above": "../..", "repository": ".git", "secret.txt": ".hidden",
		"folder.html": "/etc/passwd", "loop": "loop", "inside.html": "index.html",
	} {
		if err := os.Symlink(target, filepath.Join(r.clone, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.git(t, "add", "--all", ".")
	s := applySite(t, newWebsite(namespace, r), r)
	s.waitLive(t, r.push(t, "Link to everything"))
	url := s.url(t)
	for _, path := range []string{
		"/passwd", "/etc/passwd", "/etc/", "/root/etc/passwd", "/environ", "/config", "/up", "/above/", "/above/.git/config",
		"/repository/config",
		"/secret.txt", "/folder.html", "/folder", "/loop", "/.hidden", "/.git", "/.git/config", "/.git/", "/%2e%67it/config",
		"/..%2f..%2f..%2fetc/passwd",
	} {
		if a := get(t.Context(), visitor, url+path); a.err != nil || a.status < 400 || a.status >= 500 {
			t.Errorf("GET %s is %v, want a refusal", path, a)
		} else if strings.Contains(a.body, "root:") || strings.Contains(a.body, "PATH=") ||
			strings.Contains(a.body, "secret") || strings.Contains(a.body, "[core]") {
			t.Errorf("GET %s answers %v", path, a)
		}
	}
	for path, want := range map[string]string{"/": "a page\n", "/inside": "a page\n",
		"/.well-known/security.txt": "a contact\n"} {
		if a := get(t.Context(), visitor, url+path); a.status != http.StatusOK || a.body != want {
			t.Errorf("GET %s is %v, want %q", path, a, want)
		}
	}
}

// hostileModules would make a careless git run a program or copy a directory of
// the pod.
const hostileModules = `[submodule "program"]
	path = program
	url = ext::sh -c touch% /tmp/owned
[submodule "option"]
	path = option
	url = --upload-pack=touch /tmp/owned
[submodule "file"]
	path = file
	url = file:///git/repository/repository
	update = !touch /tmp/owned
[submodule "above"]
	path = ../../above
	url = /etc
`

// TestHostileSubmodules pushes a .gitmodules that runs programs. Without
// submodules it is not read; with them git rejects it, and the previous release
// stays online.
func TestHostileSubmodules(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]v1beta1.SubmodulePolicy{"off": v1beta1.SubmodulesNone,
		"recursive": v1beta1.SubmodulesRecursive} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(w *v1beta1.Website) { w.Spec.Source.Git.Submodules = policy })
			r, first := s.repository, s.repository.git(t, "rev-parse", "HEAD")
			files := release("release-2")
			files[".gitmodules"] = hostileModules
			r.write(t, files)
			for _, path := range []string{"program", "option", "file"} {
				r.git(t, "update-index", "--add", "--cacheinfo", "160000,"+first+","+path)
			}
			second := r.push(t, "Add submodules")
			r.markers[second] = "release-2"
			published := second
			if policy == v1beta1.SubmodulesRecursive {
				framework.WaitFor(t, "the submodules are refused", syncFailed(t, s))
				published = first
			}
			s.waitLive(t, published)
			if a := get(t.Context(), visitor, s.url(t)+"/.gitmodules"); a.status != http.StatusNotFound {
				t.Errorf("GET /.gitmodules is %v, want 404", a)
			}
			for _, path := range []string{"/program", "/option/", "/file/config"} {
				if a := get(t.Context(), visitor, s.url(t)+path); a.status == http.StatusOK && a.body != "" {
					t.Errorf("GET %s is %v, want nothing", path, a)
				}
			}
			if owned := filesOfPod(t, s, "owned"); len(owned) > 0 {
				t.Errorf("the repository ran a program, which left %v", owned)
			}
			s.syncLive(t, r.release(t, "release-3"))
		})
	}
}

// filesOfPod returns the files of that name in the volumes of the site's only pod.
func filesOfPod(t *testing.T, s *site, name string) []string {
	t.Helper()
	volumes := filepath.Join(framework.Cluster.Dir(), "kubelet", "pods", string(s.pod(t).UID), "volumes")
	var found []string
	seen := 0
	err := filepath.WalkDir(volumes, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a worktree that is being removed
		}
		seen++
		if err == nil && entry.Name() == name {
			found = append(found, path)
		}
		return err
	})
	if err != nil || seen == 0 {
		t.Fatalf("%d files in %s: %v", seen, volumes, err)
	}
	return found
}
