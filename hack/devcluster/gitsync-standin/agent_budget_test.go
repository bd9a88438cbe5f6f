package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

var largePushes = flag.Bool("large-pushes", false, "push a site of 200 MB, instead of a tenth of that")

// usedBy is what the files of a directory take on the disk, each once.
func usedBy(dir string) (used int64) {
	seen := map[uint64]bool{}
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // git is working meanwhile
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && !seen[stat.Ino] {
			seen[stat.Ino] = true
			used += stat.Blocks * 512
		}
		return nil
	})
	return used
}

// TestPushesFitTheVolume pushes a site again and again of which ten fit into the volume: the
// volume never holds more than its limit, above which the kubelet evicts the pod.
func TestPushesFitTheVolume(t *testing.T) {
	t.Parallel()
	const pushes = 10
	size, limit := 20_000_000, int64(215<<20)
	if *largePushes {
		// The default of spec.storage.sizeLimit.
		size, limit = 200_000_000, 2<<30
	}
	r := newRemote(t)
	// Packing random bytes takes time, and saves nothing.
	r.git("config", "core.compression", "0")
	r.git("config", "core.bigFileThreshold", "10k")
	// As the controller has it, see pkg/controller/website/resources.
	p := startPod(t, r, fmt.Sprintf("--disk-budget=%d", limit*9/10), "--sync-timeout=120s", "--", "--sync-timeout=120s")
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	p.push("push 0")
	p.shows("push 0")
	var most int64
	running.Go(func() { p.visit(ctx) })
	running.Go(func() {
		for ctx.Err() == nil {
			most = max(most, usedBy(p.dir))
			time.Sleep(20 * time.Millisecond)
		}
	})
	for i := range pushes {
		const files = 100
		for file := range files {
			data := make([]byte, size/files)
			_, err := rand.Read(data)
			if err := errors.Join(err, os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("photo-%d.jpg", file)), data, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		r.git("add", "--all", ".")
		page := fmt.Sprintf("push %d", i+1)
		p.push(page)
		for begin := time.Now(); time.Since(begin) < 2*time.Minute; time.Sleep(100 * time.Millisecond) {
			if got, err := p.page(); err == nil && got == page {
				break
			}
		}
		p.shows(page)
	}
	status, err := p.status()
	cancel()
	running.Wait()
	t.Logf("%d pushes of %d MB: at most %d of %d MiB were used; %d releases are kept, %v",
		pushes, size/1_000_000, most>>20, limit>>20, len(status.Releases), err)
	if most > limit {
		t.Errorf("%d bytes were used, want %d at most", most, limit)
	}
	if len(p.errs) > 0 {
		t.Errorf("%d of %d visits failed: %v", len(p.errs), p.visits, p.errs[0])
	}
}

// TestFailedSyncsFitTheVolume pushes commits that are checked out but not published, as a submodule cannot be
// fetched. git-sync removes no worktree before a sync succeeds, and the site is served meanwhile.
func TestFailedSyncsFitTheVolume(t *testing.T) {
	t.Parallel()
	const pushes = 4
	r := newRemote(t)
	p := startPod(t, r, "--", "--submodules=recursive")
	served := p.push("served")
	p.shows("served")
	r.git("config", "--file=.gitmodules", "submodule.module.path", "module")
	r.git("config", "--file=.gitmodules", "submodule.module.url", filepath.Join(p.dir, "nowhere"))
	r.git("add", ".gitmodules")
	r.git("update-index", "--add", "--cacheinfo", "160000,"+served+",module")
	worktreeOf := func(commit string) string { return filepath.Join(p.path("root"), worktrees, commit) }
	for i := range pushes {
		commit := p.push(fmt.Sprintf("not published %d", i))
		eventually(t, "it is checked out", func() bool {
			_, err := os.Stat(worktreeOf(commit))
			return err == nil
		})
	}
	eventually(t, "the worktrees of all but the last one are removed", func() bool {
		for _, parent := range []string{worktreeOf(""), filepath.Join(p.path("root"), ".git", "worktrees")} {
			if entries, err := os.ReadDir(parent); err != nil || len(entries) > 2 {
				return false
			}
		}
		return true
	})
	p.shows("served")
	r.git("rm", "--quiet", "--cached", "module", ".gitmodules")
	p.push("well again")
	p.shows("well again")
}
