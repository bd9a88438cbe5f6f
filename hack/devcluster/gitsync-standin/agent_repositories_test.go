package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/kubesites/website-apiserver/pkg/agent/gitsync"
)

// TestPathRemoved pushes a commit without the published path: it is reported, and the
// release before it stays until a commit has the path again.
func TestPathRemoved(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	p := startPod(t, r, "--path=public", "--")
	public := filepath.Join(r.dir, "public")
	reports := func(reason gitsync.Reason, found bool) {
		t.Helper()
		eventually(t, fmt.Sprintf("the reason in the status is %q", reason), func() bool {
			status, err := p.status()
			return err == nil && status.PathFound == found && (status.Failure == nil && reason == "" || status.Failure != nil && status.Failure.Reason == reason)
		})
	}
	p.push("none")
	reports(gitsync.ReasonPathNotFound, false)
	if page, err := p.page(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the page is %q, %v, want none", page, err)
	}
	if err := errors.Join(os.Mkdir(public, 0o755), os.WriteFile(filepath.Join(public, "index.html"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	r.git("add", "public")
	p.push("one")
	p.shows("one")
	reports("", true)
	r.git("rm", "-rq", "public")
	p.push("two")
	reports(gitsync.ReasonPathNotFound, false)
	p.shows("one")
	// Neither does another agent publish it.
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { p.keep(ctx) })
	defer running.Wait()
	defer cancel()
	if err := syscall.Kill(p.child(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another agent reports it", func() bool {
		status, err := p.status()
		return err == nil && status.Failure != nil && status.Failure.Reason == gitsync.ReasonPathNotFound
	})
	p.shows("one")
	r.git("reset", "--quiet", "--hard", "HEAD~1")
	reports("", true)
	r.git("checkout", "--quiet", "HEAD", ".")
	p.push("three")
	p.shows("three")
}

// TestCommitOfSHA256 serves a fixed and a pinned commit of a repository with SHA-256 objects: git does not say for a
// commit that the formats differ.
func TestCommitOfSHA256(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	if err := os.RemoveAll(filepath.Join(r.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	r.git("init", "--quiet", "--initial-branch=main", "--object-format=sha256")
	r.git("config", "uploadpack.allowAnySHA1InWant", "true")
	pushing := &pod{t: t, remote: r}
	first := pushing.push("one")
	second := pushing.push("two")
	p := startPod(t, r, "--ref="+first)
	p.shows("one")
	if status := p.pin(second, 1); status.Commit != second {
		t.Errorf("pinned to %s, the pod serves %s", second, status.Commit)
	}
}

// TestObjectFormat follows a repository with SHA-256 objects, which then becomes one with
// SHA-1, and the other way round.
func TestObjectFormat(t *testing.T) {
	t.Parallel()
	other := map[string]string{"sha1": "sha256", "sha256": "sha1"}
	for format := range other {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			initialize := func(format string) {
				t.Helper()
				// git-sync may fetch from there meanwhile.
				eventually(t, "the repository is removed", func() bool { return os.RemoveAll(filepath.Join(r.dir, ".git")) == nil })
				r.git("init", "--quiet", "--initial-branch=main", "--object-format="+format)
			}
			initialize(format)
			p := startPod(t, r)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			defer running.Wait()
			defer cancel()
			p.push("one")
			p.shows("one")
			running.Go(func() { p.visit(ctx) })
			p.push("two")
			p.shows("two")
			initialize(other[format])
			p.push("three")
			p.shows("three")
			p.push("four")
			p.shows("four")
			eventually(t, "the failure is gone from the status", func() bool {
				status, err := p.status()
				return err == nil && status.Failure == nil
			})
			cancel()
			running.Wait()
			if len(p.errs) > 0 {
				t.Errorf("%d of %d visits failed: %v", len(p.errs), p.visits, p.errs[0])
			}
		})
	}
}
