package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// remote is a repository to publish.
type remote struct {
	t   *testing.T
	dir string
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	r := &remote{t: t, dir: t.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("config", "uploadpack.allowAnySHA1InWant", "true")
	return r
}

func (r *remote) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@localhost", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *remote) commit(content string) string {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, "index.html"), []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.git("add", "index.html")
	r.git("commit", "--quiet", "-m", content)
	return r.git("rev-parse", "HEAD")
}

func newSyncer(t *testing.T, r *remote, flags ...string) *syncer {
	t.Helper()
	o, err := parse(append([]string{
		"--repo=file://" + r.dir, "--root=" + filepath.Join(t.TempDir(), "root"), "--link=current", "--submodules=off",
	}, flags...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return syncerOf(o, io.Discard)
}

// syncs syncs once and checks what is published afterwards.
func (s *syncer) syncs(t *testing.T, changed bool, commit, content string) {
	t.Helper()
	got, err := s.sync(t.Context())
	if err != nil || got != changed {
		t.Fatalf("sync = %t, %v, want %t", got, err, changed)
	}
	target, err := os.Readlink(filepath.Join(s.root, s.link))
	if err != nil || target != ".worktrees/"+commit {
		t.Errorf("link = %q, %v, want .worktrees/%s", target, err, commit)
	}
	data, err := os.ReadFile(filepath.Join(s.root, s.link, "index.html"))
	if err != nil || string(data) != content {
		t.Errorf("published page = %q, %v, want %q", data, err, content)
	}
}

func TestFollowsABranch(t *testing.T) {
	r := newRemote(t)
	first := r.commit("one")
	for _, ref := range []string{"HEAD", "refs/heads/main"} {
		r.git("reset", "--quiet", "--hard", first)
		s := newSyncer(t, r, "--ref="+ref, "--stale-worktree-timeout=1h")
		s.syncs(t, true, first, "one")
		s.syncs(t, false, first, "one")
		second := r.commit("two")
		s.syncs(t, true, second, "two")
		if data, err := os.ReadFile(filepath.Join(s.worktree(first), "index.html")); err != nil || string(data) != "one" {
			t.Errorf("the worktree before = %q, %v: requests in flight need it", data, err)
		}
		s.staleTimeout = 0
		s.syncs(t, false, second, "two")
		if _, err := os.Stat(s.worktree(first)); err == nil {
			t.Error("a stale worktree stays")
		}
		// A rewritten branch, back to a commit whose worktree is gone.
		r.git("reset", "--quiet", "--hard", first)
		s.syncs(t, true, first, "one")
	}
}

func TestTagMeansItsCommit(t *testing.T) {
	r := newRemote(t)
	first := r.commit("one")
	r.git("tag", "-a", "-m", "release", "v1")
	r.commit("two")
	newSyncer(t, r, "--ref=refs/tags/v1").syncs(t, true, first, "one")
}

func TestFailedSyncKeepsWhatIsPublished(t *testing.T) {
	r := newRemote(t)
	first := r.commit("one")
	s := newSyncer(t, r)
	s.syncs(t, true, first, "one")
	if err := os.Rename(r.dir, r.dir+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.sync(t.Context()); err == nil {
		t.Fatal("a sync without its remote succeeded")
	}
	if linked, err := s.linked(); err != nil || linked != first {
		t.Error("a failed sync took the site down")
	}
	if err := os.Rename(r.dir+".away", r.dir); err != nil {
		t.Fatal(err)
	}
	// As after a crash: half a worktree.
	second := r.commit("two")
	if err := os.MkdirAll(s.worktree(second), 0o755); err != nil {
		t.Fatal(err)
	}
	s.syncs(t, true, second, "two")
}

func TestRunEndsAfterTooManyFailures(t *testing.T) {
	r := newRemote(t)
	s := newSyncer(t, r, "--max-failures=1", "--period=1ms")
	if err := run(t.Context(), s.options, io.Discard); err == nil {
		t.Error("it did not end")
	}
	s.maxFailures = -1
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := run(ctx, s.options, io.Discard); err != nil {
		t.Errorf("with --max-failures=-1 it ended: %v", err)
	}
}

// TestPasswordOfToday: the file may change between two syncs, and git keeps the
// settings that it has from its container.
func TestPasswordOfToday(t *testing.T) {
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.bigFileThreshold")
	t.Setenv("GIT_CONFIG_VALUE_0", "16m")
	file := filepath.Join(t.TempDir(), "password")
	s := newSyncer(t, newRemote(t), "--repo=http://localhost:1/site.git", "--username=somebody", "--password-file="+file)
	if _, err := s.sync(t.Context()); err == nil || !strings.Contains(err.Error(), "--password-file") {
		t.Errorf("without the file: %v", err)
	}
	for _, password := range []string{"yesterday", "to day's"} {
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		credentials, err := s.credentials()
		if err != nil {
			t.Fatal(err)
		}
		ask := exec.Command("git", "credential", "fill")
		ask.Env = append(os.Environ(), credentials...)
		ask.Stdin = strings.NewReader("protocol=http\nhost=localhost:1\n\n")
		if out, err := ask.Output(); err != nil || !strings.Contains(string(out), "username=somebody\npassword="+password+"\n") {
			t.Errorf("git gets %q, %v, want the password %q", out, err, password)
		}
	}
	s.root = t.TempDir()
	if setting, err := s.git(t.Context(), s.root, "config", "core.bigFileThreshold"); err != nil || setting != "16m" {
		t.Errorf("core.bigFileThreshold = %q, %v, want that of the container", setting, err)
	}
}

func TestFlags(t *testing.T) {
	var help bytes.Buffer
	if _, err := parse([]string{"--help"}, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "STAND-IN") {
		t.Errorf("help = %v: %s", err, help.String())
	}
	base := []string{"--repo=http://localhost/x.git", "--root=/r"}
	if o, err := parse(base, io.Discard); err != nil || o.link != "x" || o.depth != 1 || o.maxFailures != 0 {
		t.Errorf("defaults: %+v, %v", o, err)
	}
	for _, bad := range [][]string{
		{"--unknown"}, {"--ref=-x"}, {"--repo=--upload-pack=x"}, {"--repo="}, {"--root="}, {"--link=a/b"}, {"--link=.."},
		{"--submodules=some"}, {"--period=0s"}, {"--depth=-1"}, {"argument"},
	} {
		if _, err := parse(append(base, bad...), io.Discard); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

func TestHTTP(t *testing.T) {
	c := &counts{}
	ask := func(handler http.HandlerFunc) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return w
	}
	if w := ask(c.serveReady); w.Code != http.StatusServiceUnavailable {
		t.Errorf("before the first sync: %d", w.Code)
	}
	c.note(true, nil, time.Second)
	c.note(false, errors.New("remote away"), time.Second)
	if w := ask(c.serveReady); w.Code != http.StatusOK {
		t.Errorf("after a sync and a failure: %d", w.Code)
	}
	if w := ask(c.serveMetrics); !strings.Contains(w.Body.String(), `git_sync_count_total{status="success"} 1`) {
		t.Errorf("metrics: %s", w.Body)
	}
}
