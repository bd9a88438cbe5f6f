package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			t.Fatalf("not after half a minute: %s", what)
		}
	}
}

// start runs the program until the test ends or stop is called.
func start(t *testing.T, s *syncer, out *bytes.Buffer) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = run(ctx, s.options, out)
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

func (s *syncer) page() string {
	data, _ := os.ReadFile(filepath.Join(s.root, s.link, "index.html"))
	return string(data)
}

// TestLockFileWipesTheRoot: a killed git fetch leaves such a file.
func TestLockFileWipesTheRoot(t *testing.T) {
	r := newRemote(t)
	first := r.commit("one")
	s := newSyncer(t, r)
	s.syncs(t, true, first, "one")
	lock := filepath.Join(s.root, ".git", "shallow.lock")
	if err := errors.Join(os.WriteFile(lock, nil, 0o600), os.Rename(r.dir, r.dir+".away")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.sync(t.Context()); err == nil {
		t.Fatal("a sync without its remote succeeded")
	}
	if _, err := os.Stat(filepath.Join(s.root, worktrees)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the worktrees are still there: %v", err)
	}
	// The link is not removed, as it is dangling by then.
	if linked, err := s.linked(); err != nil || linked != first || s.page() != "" {
		t.Errorf("the link names %q (%v) and leads to %q, want a dangling one", linked, err, s.page())
	}
	if err := os.Rename(r.dir+".away", r.dir); err != nil {
		t.Fatal(err)
	}
	s.syncs(t, true, first, "one")
}

// TestDamageRemovesTheWorktree: what is published is gone until it is fetched again.
func TestDamageRemovesTheWorktree(t *testing.T) {
	r := newRemote(t)
	first := r.commit("one")
	s := newSyncer(t, r)
	s.syncs(t, true, first, "one")
	if err := os.WriteFile(filepath.Join(s.worktree(first), ".git"), []byte("gitdir: nowhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.syncs(t, true, first, "one")
}

// TestTemporaryLinkBlocks: only a new root recovers.
func TestTemporaryLinkBlocks(t *testing.T) {
	r := newRemote(t)
	first := r.commit("one")
	s := newSyncer(t, r)
	s.syncs(t, true, first, "one")
	if err := os.Symlink("nowhere", filepath.Join(s.root, "tmp-link")); err != nil {
		t.Fatal(err)
	}
	r.commit("two")
	for range 2 {
		if _, err := s.sync(t.Context()); err == nil || !strings.Contains(err.Error(), "file exists") {
			t.Errorf("sync: %v, want that the link is there", err)
		}
	}
	if s.page() != "one" {
		t.Errorf("page %q", s.page())
	}
}

// TestHangsAsLongAsTheServer: git is killed, git-remote-http is not.
func TestHangsAsLongAsTheServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 16)
	go func() {
		defer close(accepted)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	defer func() { _ = listener.Close() }()
	s := newSyncer(t, newRemote(t), "--repo=http://"+listener.Addr().String()+"/site.git", "--sync-timeout=500ms")
	ended := make(chan error, 1)
	var first net.Conn
	// On a busy machine git may be killed before it has started git-remote-http.
	for attempt := 0; first == nil; attempt++ {
		if attempt == 20 {
			t.Fatal("git never connects")
		}
		go func() { _, err := s.sync(t.Context()); ended <- err }()
		select {
		case first = <-accepted:
		case <-ended:
		}
	}
	select {
	case err := <-ended:
		t.Errorf("the sync has ended although the server says nothing: %v", err)
	case <-time.After(2 * time.Second):
	}
	// No later connection may hang.
	if err := errors.Join(listener.Close(), first.Close()); err != nil {
		t.Error(err)
	}
	for conn := range accepted {
		_ = conn.Close()
	}
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "Run(git fetch http://") {
		t.Errorf("the sync ended with %v", err)
	}
}

// TestErrorFile has the last error until a sync succeeds, and the log a line of JSON for it.
func TestErrorFile(t *testing.T) {
	r := newRemote(t)
	s := newSyncer(t, r, "--error-file="+filepath.Join(t.TempDir(), "error.json"), "--period=1h", "--init-period=10ms", "--max-failures=-1")
	var out bytes.Buffer
	stop := start(t, s, &out)
	var content struct{ Msg, Err string }
	eventually(t, "there is an error file", func() bool {
		data, err := os.ReadFile(s.errorFile)
		return err == nil && json.Unmarshal(data, &content) == nil
	})
	if !strings.Contains(content.Err, `stderr: "fatal: couldn't find remote ref HEAD`) || content.Msg != "error syncing repo, will retry" {
		t.Errorf("the error file has %+v", content)
	}
	r.commit("one")
	eventually(t, "it is published within --init-period", func() bool { return s.page() == "one" })
	eventually(t, "the error file is gone", func() bool {
		_, err := os.Stat(s.errorFile)
		return errors.Is(err, fs.ErrNotExist)
	})
	stop()
	found := false
	for line := range strings.Lines(out.String()) {
		var message struct{ Msg, Error string }
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			t.Errorf("%q is not JSON: %v", line, err)
		}
		found = found || message.Msg == content.Msg && message.Error == content.Err
	}
	if !found {
		t.Errorf("the log has no line with the command and its error:\n%s", out.String())
	}
}

// TestSyncOnSignal does not wait for the period, and ignores the signal on a commit hash.
func TestSyncOnSignal(t *testing.T) {
	r := newRemote(t)
	first := r.commit("one")
	for ref, follows := range map[string]bool{"refs/heads/main": true, first: false} {
		t.Run(ref[:4], func(t *testing.T) {
			r.git("reset", "--quiet", "--hard", first)
			s := newSyncer(t, r, "--ref="+ref, "--period=1h", "--sync-on-signal=SIGHUP")
			var out bytes.Buffer
			stop := start(t, s, &out)
			eventually(t, "it is published", func() bool { return s.page() == "one" })
			r.commit("two")
			signalled := 0
			for begin := time.Now(); s.page() == "one" && (follows && time.Since(begin) < 30*time.Second || signalled < 3); signalled++ {
				if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			if got := s.page() == "two"; got != follows {
				t.Errorf("after %d signals the page is %q", signalled, s.page())
			}
			stop()
			if asleep := strings.Contains(out.String(), "no further sync needed"); asleep == follows {
				t.Errorf("sleeps: %t\n%s", asleep, out.String())
			}
		})
	}
}
