package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	config := ""
	for _, setting := range append([]string{"core.bare=true", "core.repositoryFormatVersion=1",
		"extensions.objectFormat=" + format, "uploadpack.allowFilter=true",
		// Most contents are small or random.
		"core.compression=0"}, settings...) {
		key, value, _ := strings.Cut(setting, "=")
		section, name, _ := strings.Cut(key, ".")
		config += fmt.Sprintf("[%s]\n%s = %s\n", section, name, value)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "objects"), 0o755), os.Mkdir(filepath.Join(dir, "refs"), 0o755),
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600)); err != nil {
		t.Fatal(err)
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
	return strings.TrimSpace(readFile(o.t, filepath.Join(o.dir, "refs/heads", branch)))
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
