package devcluster

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// writtenText is a writer that can be read at any time.
type writtenText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *writtenText) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(data)
}

func (w *writtenText) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestTerminalLineIsUpdatedInPlace(t *testing.T) {
	var out writtenText
	p := &progress{start: time.Now(), w: &out, width: 40}
	s := p.step("building etcd")
	s.set("downloading Go modules, %d so far, and more than fits the line", 132)
	eventually(t, "the step is reported twice",
		func() bool { return strings.Count(out.String(), "building etcd: down") == 2 })
	if text := out.String(); strings.Contains(text, "\n") {
		t.Errorf("a step wrote a line of its own before its end: %q", text)
	}
	for report := range strings.SplitSeq(out.String(), "\r\x1b[K") {
		if len(report) >= p.width {
			t.Errorf("%q does not fit into %d columns", report, p.width)
		}
	}
	if err := s.failed(io.ErrUnexpectedEOF); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("failed = %v", err)
	}
	text := out.String()
	if last := text[strings.LastIndex(text, "\r\x1b[K"):]; !strings.Contains(last, "building etcd: failed") ||
		!strings.HasSuffix(last, "\n") {
		t.Errorf("the step ended with %q", last)
	}
}

func TestLogHasOneLinePerReport(t *testing.T) {
	var out writtenText
	p := newProgress(&out)
	s := p.step("building etcd")
	s.set("downloading Go modules, %d so far", 132)
	eventually(t, "the step is reported", func() bool { return strings.Contains(out.String(), "modules, 132 so far (1.") })
	s.done("built")
	if text := out.String(); strings.ContainsAny(text, "\r\x1b") || strings.Count(text, "\n") != 2 {
		t.Errorf("written: %q, want two plain lines", text)
	}
}

// fakeGo prints lines in the form of go build, waits for a line, and fails.
const fakeGo = `#!/bin/sh
for m in a b c; do echo "go: downloading example.org/$m v1.0.0" >&2; done
read -r line
echo example.org/compiled >&2
echo "main.go:1:1: undefined: $line" >&2
exit 3
`

// TestFirstBuild tests the script that builds bin/devcluster.
func TestFirstBuild(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(fakeGo), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(testRepo(t), "hack", "go-build.sh"), "program", ".", "./cmd")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GO="+filepath.Join(dir, "go"), "TMPDIR="+dir)
	var failure writtenText
	cmd.Stderr = &failure
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "building program: downloading Go modules, 3 so far (") {
		t.Errorf("first line = %q (%v)", line, err)
	}
	if _, err := io.WriteString(stdin, "name\n"); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the script ended with %v, want the status of go build", err)
	}
	if text := failure.String(); text != "building program failed:\nmain.go:1:1: undefined: name\n" {
		t.Errorf("standard error = %q", text)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "tmp.*")); err != nil || len(left) > 0 {
		t.Errorf("the script left %v (%v)", left, err)
	}
}

func TestTimeLeft(t *testing.T) {
	tests := map[string]struct {
		expected, done, compiled int
		want                     string
	}{
		"half":                      {1000, 200, 300, ", about 1m40s left"},
		"the last seconds":          {1000, 900, 99, ", about 10s left"},
		"too early":                 {1000, 0, 50, ""},
		"more than there should be": {1000, 900, 200, ""},
	}
	for name, test := range tests {
		p := &progress{start: time.Now().Add(-95 * time.Second), done: test.done}
		p.expect(test.expected)
		if got := p.left(test.compiled); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
