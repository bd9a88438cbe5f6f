package gitserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTLS(t *testing.T) {
	_, dir, commit := serve(t)
	credentials, ca := filepath.Join(t.TempDir(), "credentials"), filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(credentials, []byte("reader:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := StartTLS(Options{Address: "127.0.0.1:0", Dir: dir, CredentialsFile: credentials})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if err := os.WriteFile(ca, server.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	private := strings.Replace(server.URL, "://", "://reader:secret@", 1) + "/private/site.git"
	trusting := []string{"GIT_TERMINAL_PROMPT=0", "GIT_SSL_CAINFO=" + ca}
	if out, err := git(t.Context(), trusting, "ls-remote", private, "HEAD"); err != nil ||
		!strings.HasPrefix(out, commit) {
		t.Errorf("with the password: %q, %v, want %s", out, err, commit)
	}
	if out, err := git(t.Context(), trusting, "ls-remote", server.URL+"/private/site.git", "HEAD"); err == nil {
		t.Errorf("without it: %q, want it refused", out)
	}
	if out, err := git(t.Context(), trusting[:1], "ls-remote", private, "HEAD"); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the certificate: %q, %v, want it not trusted", out, err)
	}
}
