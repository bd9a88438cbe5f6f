package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/hack/devcluster/gitserver"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources/resourcestest"
)

// TestTakesWhatTheControllerPasses: a flag that is refused here is a pod that never
// starts.
func TestTakesWhatTheControllerPasses(t *testing.T) {
	for name, tweak := range resourcestest.Sources() {
		t.Run(name, func(t *testing.T) {
			site := &v1beta1.Website{
				ObjectMeta: metav1.ObjectMeta{Name: "kubia", Namespace: "default"},
				Spec: v1beta1.WebsiteSpec{
					Source:  v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: "https://example.com/site.git", Submodules: v1beta1.SubmodulesNone}},
					Polling: v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic, PeriodSeconds: 60, TimeoutSeconds: 120},
				},
			}
			tweak(site)
			deployment, err := resources.Deployment(site, resources.Installation{}, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, container := range deployment.Spec.Template.Spec.InitContainers {
				if *container.Name != resources.GitSyncContainer {
					continue
				}
				args := resourcestest.GitSyncArgs(container.Args)
				if slices.ContainsFunc(container.Args, func(arg string) bool { return strings.HasPrefix(arg, "--username-file=") }) {
					args = append(args, "--username=user") // The agent reads it from the file.
				}
				if o, err := parse(args, io.Discard); err != nil || o.repo != site.Spec.Source.Git.Repository {
					t.Errorf("%q are taken for %+v: %v", container.Args, o, err)
				}
				return
			}
			t.Error("the pod has no git-sync")
		})
	}
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

// TestSSH publishes a private repository over ssh, and only with its key and from the
// host that is known.
func TestSSH(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("no ssh on PATH: install the package openssh-client")
	}
	// The settings of the user who runs the test are not those of a container.
	t.Setenv("GIT_SSH_COMMAND", "ssh -F none -o IdentitiesOnly=yes")
	t.Setenv("LC_ALL", "C")
	dir := t.TempDir()
	if _, err := gitserver.Create(t.Context(), dir, "private/site"); err != nil {
		t.Fatal(err)
	}
	content := t.TempDir()
	if err := os.WriteFile(filepath.Join(content, "index.html"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	commit, err := gitserver.Commit(t.Context(), dir, "private/site", content, "One")
	if err != nil {
		t.Fatal(err)
	}
	var servers [2]*gitserver.SSH
	for i := range servers {
		if servers[i], err = gitserver.StartSSH(dir, "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(servers[i].Close)
	}
	server, other := servers[0], servers[1]
	address, _, _ := strings.Cut(string(server.KnownHosts), " ")
	_, hostKey, _ := strings.Cut(string(other.KnownHosts), " ")
	for name, test := range map[string]struct {
		repository      string
		key, knownHosts string
		wantError       string
	}{
		"key and host known": {"private/site", string(server.PrivateKey), string(server.KnownHosts), ""},
		"another key":        {"private/site", string(other.PrivateKey), string(server.KnownHosts), "Permission denied"},
		"host not known":     {"private/site", string(server.PrivateKey), string(other.KnownHosts), "Host key verification failed"},
		"host has another key": {"private/site", string(server.PrivateKey), address + " " + hostKey,
			"Host key verification failed"},
		"no such repository": {"private/other", string(server.PrivateKey), string(server.KnownHosts), "does not appear to be a git repository"},
		"no name":            {"../site", string(server.PrivateKey), string(server.KnownHosts), "Could not read from remote repository"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := parse([]string{
				"--repo=" + server.URL + "/" + test.repository + ".git", "--root=" + filepath.Join(t.TempDir(), "root"), "--link=current", "--submodules=off",
				"--ssh-key-file=" + writeFile(t, test.key), "--ssh-known-hosts=true", "--ssh-known-hosts-file=" + writeFile(t, test.knownHosts),
			}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			s := syncerOf(o, io.Discard)
			if test.wantError == "" {
				s.syncs(t, true, commit, "one")
				return
			}
			if _, err := s.sync(t.Context()); err == nil || !strings.Contains(err.Error(), test.wantError) {
				t.Errorf("error %v, want %q", err, test.wantError)
			}
		})
	}
}
