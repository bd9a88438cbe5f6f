package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestEnvironment: git gets PATH only from this process, and its configuration from this package only.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	evil := filepath.Join(dir, "evil")
	for name, content := range map[string]string{
		".gitconfig": "[alias]\nrev-parse = !touch " + evil + "\n[credential]\nhelper = !touch " + evil +
			"\n[core]\nsshCommand = touch " + evil + "\n[url \"file:///\"]\ninsteadOf = http://\n",
		".netrc": "machine 127.0.0.1 login a password b\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", dir)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, ".gitconfig"))
	t.Setenv("GIT_DIR", "/none")
	t.Setenv("GIT_SSH_COMMAND", "touch "+evil)
	t.Setenv("LANG", "de_DE.UTF-8")
	o := newOrigin(t)
	o.commit(files{"x": "x"})
	r := newRepository(t, o.serve().url(o))
	r.sync(t, "HEAD")
	output, err := r.run(t.Context(), command{args: []string{"config", "--list", "--show-scope"}})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(output) {
		if scope, _, _ := strings.Cut(line, "\t"); scope != "local" && scope != "command" {
			t.Errorf("the configuration has %q", line)
		}
	}
	for _, want := range []string{"core.hookspath=/dev/null", "fetch.recursesubmodules=false", "transfer.bundleuri=false",
		"promisor.acceptfromserver=None", "gc.auto=0"} {
		if !strings.Contains(output, want) {
			t.Errorf("the configuration lacks %s", want)
		}
	}
	variables := strings.Join(r.environment(command{protocols: "https"}), "\n")
	for _, want := range []string{"HOME=" + r.path(homeDir), "LC_ALL=C", "GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=https\n", "GIT_CONFIG_GLOBAL=/dev/null", "-F /dev/null", "StrictHostKeyChecking=yes"} {
		if !strings.Contains(variables+"\n", want) {
			t.Errorf("the environment lacks %s", want)
		}
	}
	if _, err := os.Stat(evil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the configuration of the user has run a command: %v", err)
	}
}

// TestContextThatHasEnded: the cause is the reason why a command does not start, as it is why a command ends.
func TestContextThatHasEnded(t *testing.T) {
	t.Parallel()
	r := newRepository(t, "https://example.com/x.git")
	for want, cause := range map[Reason]error{
		ReasonTooLarge: failure(ReasonTooLarge, ""), ReasonTimedOut: context.DeadlineExceeded,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if _, err := r.run(ctx, command{args: []string{"version"}}); !isReason(err, want) {
			t.Errorf("%v: %v, want %s", cause, err, want)
		}
	}
}

// TestFilters of attributes and hooks in a repository run nothing.
func TestFilters(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	content := files{"x": "x", ".gitattributes": "* filter=lfs diff=evil merge=evil\n", ".lfsconfig": "[lfs]\nurl = x\n",
		"hooks/post-checkout": "#!/bin/sh\nexit 1\n"}
	o.commit(content)
	if _, got := newRepository(t, o.serve().url(o)).sync(t, "HEAD"); got["x"] != "x" {
		t.Errorf("checked out %q", got)
	}
}

// TestNoLazyFetch: a missing object is missing for all commands but a fetch.
func TestNoLazyFetch(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(files{"p/x": "one", "y": "y"})
	s := o.serve()
	r := newRepository(t, s.url(o), ofPath("p"))
	r.sync(t, "HEAD")
	s.set(nil)
	// As a server that names itself a promisor would like it.
	named := []string{"-c", "remote.origin.promisor=true", "-c", "remote.origin.url=" + s.url(o), "cat-file", "-p",
		trackedRef + ":y"}
	for _, args := range [][]string{named, {"fetch", s.url(o)}, {"cat-file", "-p", trackedRef + ":y"},
		{"checkout-index", "--all"}, {"log", "-p", trackedRef}, {"fsck"}} {
		_, _ = r.run(t.Context(), command{args: args})
	}
	if s.bytes() > 0 || len(s.requests) > 0 {
		t.Errorf("requests: %q", s.requests)
	}
}

// TestMemory: git fails by its own limit, before the container does.
func TestMemory(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.commit(files{"x": "x"})
	r := newRepository(t, o.serve().url(o))
	r.sync(t, "HEAD")
	r.Memory = 32 << 20
	// hash-object holds its input in memory.
	_, err := r.run(
		t.Context(), command{args: []string{"hash-object", "--stdin"}, stdin: bytes.NewReader(make([]byte, 64<<20))},
	)
	if !isReason(err, ReasonMemory) {
		t.Errorf("%v", err)
	}
}

// TestKilled: the kernel kills a process that has no more memory.
func TestKilled(t *testing.T) {
	t.Parallel()
	r := newRepository(t, "http://127.0.0.1/x")
	if err := r.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := r.run(t.Context(), command{args: []string{"-c", "alias.x=!kill -9 $PPID", "x"}})
	if !isReason(err, ReasonMemory) {
		t.Errorf("%v", err)
	}
	_, err = r.run(
		t.Context(), command{args: []string{"-c", "alias.x=!echo error: index-pack died of signal 9 >&2; exit 128", "x"}},
	)
	if !isReason(err, ReasonMemory) {
		t.Errorf("%v", err)
	}
}

// TestEnd ends all that a command has started, also if that ignores signals and holds the output open.
func TestEnd(t *testing.T) {
	t.Parallel()
	r := newRepository(t, "http://127.0.0.1/x", within(500*time.Millisecond))
	if err := r.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, end, err := r.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	begin := time.Now()
	_, err = r.run(ctx, command{args: []string{"-c", `alias.x=!trap "" TERM; (trap "" TERM; sleep 60) & sleep 60`, "x"}})
	if !isReason(err, ReasonTimedOut) || time.Since(begin) > 20*time.Second {
		t.Errorf("after %s: %v", time.Since(begin), err)
	}
	if running := processesIn(t, r.Dir); len(running) > 0 {
		t.Errorf("still running: %q", running)
	}
}

// TestOutput is bounded.
func TestOutput(t *testing.T) {
	t.Parallel()
	r := newRepository(t, "http://127.0.0.1/x")
	if err := r.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]command{
		"record": {args: []string{"-c", "alias.x=!yes | tr -d '\\n'", "x"},
			stdout: &records{separator: '\n', each: func(string) error { return nil }}},
		"each": {args: []string{"-c", "alias.x=!yes", "x"},
			stdout: &records{separator: '\n', each: func(string) error { return fmt.Errorf("printed more than expected") }}},
	} {
		if _, err := r.run(t.Context(), c); !strings.Contains(fmt.Sprint(errors.Unwrap(asError(err))), "printed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if output, err := r.run(t.Context(),
		command{args: []string{"-c", "alias.x=!yes | head -c 1000000", "x"}}); err != nil || len(output) > maxPrinted {
		t.Errorf("%d bytes of output, %v", len(output), err)
	}
	if _, err := r.run(
		t.Context(), command{args: []string{"-c", "alias.x=!yes | head -c 1000000 >&2; exit 1", "x"}},
	); len(err.Error()) > 1000 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}
