package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
)

var largePushes = flag.Bool("large-pushes", false, "push a site of 200 MB, instead of a hundredth of that")

// usedBy returns the disk space of the files in a directory, each counted once.
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

// within calls a function, during which the volume never exceeds a limit, above which the kubelet
// evicts pods.
func (p *pod) within(limit int64, during func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	var most int64
	var measuring sync.WaitGroup
	measuring.Go(func() {
		for ctx.Err() == nil {
			most = max(most, usedBy(p.path("volume")))
			time.Sleep(10 * time.Millisecond)
		}
	})
	defer func() {
		p.t.Helper()
		cancel()
		measuring.Wait()
		p.t.Logf("at most %d of %d kB were used", most/1000, limit/1000)
		if most > limit {
			p.t.Errorf("%d bytes were used, want %d at most", most, limit)
		}
	}()
	p.visited(during)
}

// TestTooLarge: a push that exceeds the volume is rejected, and the previous release stays, also after a restart. A
// pin, or a smaller push, resolves it.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	const limit = 12 << 20
	r := newRemote(t)
	zero := r.push("zero", files{"random.bin": random(1 << 20)})
	p := startPod(t, r, fmt.Sprintf("--disk-budget=%d", limit*9/10), "--timeout=120s")
	p.shows("zero")
	one := r.push("one", files{"random.bin": random(1 << 20)})
	p.shows("one")
	p.within(limit, func() {
		for i, content := range []files{
			{"pack.bin": random(14 << 20)},
			{"files.txt": strings.Repeat("compressed\n", 2<<20)},
		} {
			// Only the text is sent compressed.
			r.run("config", "core.compression", strconv.Itoa(i))
			large := r.push("large", content)
			for attempt := range 2 {
				status := p.sync(fmt.Sprintf("large-%d-%d", i, attempt))
				if reasonOf(status) != git.ReasonTooLarge || status.Commit != one {
					t.Errorf("the status is %+v", status)
				}
			}
			p.showsNow("one")
			p.kill()
			p.start()
			p.reports(git.ReasonTooLarge)
			p.showsNow("one")
			if status := p.pin(zero, 2*i+1); status.Commit != zero {
				t.Errorf("pinned, the status is %+v", status)
			}
			p.showsNow("zero")
			if status := p.pin(one, 2*i+2); status.Commit != one || slices.Contains(status.Releases, large) {
				t.Errorf("pinned, the status is %+v", status)
			}
		}
		small := r.push("small", files{"random.bin": random(1 << 20)})
		if status := p.sync("small"); status.Failure != nil || status.Newest != small {
			t.Errorf("the status is %+v", status)
		}
		p.pin("", 9)
		p.showsNow("small")
	})
}

// TestPushesFitTheVolume repeatedly pushes a site of a tenth of the volume.
func TestPushesFitTheVolume(t *testing.T) {
	t.Parallel()
	const number = 20
	size, limit := 2_000_000, int64(22<<20)
	if *largePushes {
		// This is the default of spec.storage.sizeLimit.
		size, limit = 200_000_000, 2<<30
	}
	r := newRemote(t)
	r.push("push 0")
	// The controller computes the same budget, see pkg/controller/website/resources.
	p := startPod(t, r, fmt.Sprintf("--disk-budget=%d", limit*9/10), "--timeout=120s")
	p.shows("push 0")
	p.within(limit, func() {
		for i := range 10 {
			photos := files{}
			for file := range number {
				photos[fmt.Sprintf("photo-%d.jpg", file)] = random(size / number)
			}
			page := fmt.Sprintf("push %d", i+1)
			r.push(page, photos)
			p.shows(page)
		}
	})
	status, err := p.status()
	if err != nil || len(status.Releases) < 2 {
		t.Errorf("%d releases are kept, %v", len(status.Releases), err)
	}
}

// TestFailedSyncsFitTheVolume pushes commits that are fetched but cannot be published, because of
// a submodule.
func TestFailedSyncsFitTheVolume(t *testing.T) {
	t.Parallel()
	const limit = 6 << 20
	r := newRemote(t)
	one := r.push("one")
	p := startPod(t, r, "--submodules=Recursive", fmt.Sprintf("--disk-budget=%d", limit*9/10))
	p.shows("one")
	p.within(limit, func() {
		modules := files{
			".gitmodules": "[submodule \"module\"]\n\tpath = module\n\turl = " + r.url + "/none.git\n", "module": "@" + one,
		}
		for i := range 4 {
			r.push("not published", modules, files{"random.bin": random(2 << 20)})
			if status := p.sync(fmt.Sprint("fails-", i)); reasonOf(status) == "" || status.Commit != one {
				t.Errorf("the status is %+v", status)
			}
		}
		p.showsNow("one")
		r.push("two", files{"random.bin": random(3 << 19)})
		if status := p.sync("succeeds"); status.Failure != nil {
			t.Errorf("the status is %+v", status)
		}
		p.showsNow("two")
	})
}

// TestFullDisk: the previous release stays, and the next commit is published once there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.push("one")
	p := newPod(t, r)
	mount := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", p.path("volume"))
	if output, err := mount.CombinedOutput(); err != nil {
		t.Skipf("mounting a small file system: %v: %s", err, output)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "--lazy", p.path("volume")).Run() })
	p.start()
	p.shows("one")
	p.visited(func() {
		r.push("large", files{"random.bin": random(8 << 20)})
		p.reports(git.ReasonStorageFull)
		p.showsNow("one")
		r.push("two")
		if status := p.sync("smaller"); status.Failure != nil {
			t.Errorf("the status is %+v", status)
		}
		p.showsNow("two")
	})
}
