package gitserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sshCommand makes git use a key and trust one host key.
func sshCommand(t *testing.T, key, knownHosts []byte) []string {
	t.Helper()
	keyFile, hostsFile := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "known_hosts")
	for path, data := range map[string][]byte{keyFile: key, hostsFile: knownHosts} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"GIT_SSH_COMMAND=ssh -F none -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o " +
		"UserKnownHostsFile=" + hostsFile + " -i " + keyFile}
}

func TestSSH(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skipf("ssh is missing: install it from your system's packages: %v", err)
	}
	_, dir, commit := serve(t)
	var servers [2]*SSH
	for i := range servers {
		var err error
		if servers[i], err = StartSSH(dir, "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(servers[i].Close)
	}
	s, other := servers[0], servers[1]
	good := sshCommand(t, s.PrivateKey, s.KnownHosts)
	if out, err := git(t.Context(), good, "ls-remote", s.URL+"/private/site.git", "HEAD"); err != nil ||
		!strings.HasPrefix(out, commit) {
		t.Errorf("with the key: %q, %v, want %s", out, err, commit)
	}
	if _, err := git(t.Context(), good, "clone", "--quiet", s.URL+"/private/site.git",
		filepath.Join(t.TempDir(), "clone")); err != nil {
		t.Errorf("cloning: %v", err)
	}
	for name, refused := range map[string][]string{
		"Permission denied":            sshCommand(t, other.PrivateKey, s.KnownHosts),
		"Host key verification failed": sshCommand(t, s.PrivateKey, other.KnownHosts),
	} {
		if out, err := git(t.Context(), refused, "ls-remote", s.URL+"/private/site.git"); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%q, %v, want %s", out, err, name)
		}
	}
	if out, err := git(t.Context(), good, "ls-remote", s.URL+"/../site.git"); err == nil ||
		!strings.Contains(err.Error(), "only git-upload-pack") {
		t.Errorf("a path outside: %q, %v", out, err)
	}
}

func TestCommandsOverSSH(t *testing.T) {
	for command, want := range map[string]string{
		"git-upload-pack '/site.git'":         "site",
		"git-upload-pack '/private/site.git'": "private/site",
		"git-upload-pack '/../site.git'":      "",
		"git-upload-pack '/other/site.git'":   "",
		"git-upload-pack '/.git'":             "",
		"git-upload-pack 'site.git'":          "",
		"git-upload-pack '/site.git'; id":     "",
		"git-receive-pack '/site.git'":        "",
		"sh":                                  "",
		"":                                    "",
	} {
		name, found := repositoryOf(command)
		if found != (want != "") || found && name != want {
			t.Errorf("%s is for %q, %t, want %q", command, name, found, want)
		}
	}
}
