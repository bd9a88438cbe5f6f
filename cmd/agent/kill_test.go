package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
)

// TestKillMatrix kills git, or the agent, at each step of a sync: the current release stays published, and the
// next commit is published.
func TestKillMatrix(t *testing.T) {
	t.Parallel()
	// These are the locks of a git that was killed while writing.
	const lock = `touch "$GIT_DIR/shallow.lock" "$GIT_DIR/refs/website/head.lock" "$GIT_DIR/../index.lock"; `
	victims := map[string]struct {
		// action is run in place of git, and killsAgent is true if the agent is killed during it.
		action     string
		killsAgent bool
	}{
		"git":           {action: "kill -9 $$"},
		"working git":   {action: `exec 3<&0; "$GIT" "$@" <&3 & sleep 0.005; kill -9 $! $$`},
		"git, locked":   {action: lock + "kill -9 $$"},
		"agent":         {action: "sleep 600", killsAgent: true},
		"agent, locked": {action: lock + "sleep 600", killsAgent: true},
		"agent, after":  {action: `"$GIT" "$@"; sleep 600`, killsAgent: true},
	}
	for _, step := range []string{"fetch", "diff-tree", "cat-file", "read-tree", "rev-list", "pack-objects"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			r := newRemote(t)
			push := func(page string) { r.pushBelow("p/", page, files{"p/random.bin": random(100_000), "other": page}) }
			push("one")
			p := newPod(t, r, "--path=p")
			p.wrapGit(step)
			p.start()
			p.shows("one")
			p.visited(func() {
				for victim, how := range victims {
					p.arm(how.action)
					// Some steps are not part of every sync.
					for i := 0; !p.fired(); i++ {
						if i == 20 {
							t.Fatalf("git %s is not run", step)
						}
						page := fmt.Sprint(victim, " two ", i)
						push(page)
						eventually(t, page+" is there, or git is killed", func() bool {
							got, err := p.page()
							return p.fired() || err == nil && got == page
						})
					}
					if how.killsAgent {
						time.Sleep(100 * time.Millisecond)
						p.kill()
						p.start()
					}
					push(victim + " three")
					p.shows(victim + " three")
					p.reports("")
				}
			})
		})
	}
}

// TestKilledAtAnyTime kills the agent some time after a push: while it fetches, makes the release, switches to it and
// removes earlier ones.
func TestKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.push("start")
	p := startPod(t, r, "--period=20ms")
	p.shows("start")
	p.visited(func() {
		for i := range 15 {
			page := fmt.Sprint("push ", i)
			commit := r.push(page, files{"random.bin": random(50_000), "directory/file": page})
			time.Sleep(time.Duration(20*i) * time.Millisecond)
			p.kill()
			p.start()
			p.shows(page)
			// One additional release remains if the agent was killed before it removed that.
			p.keeps(commit, 6)
		}
		commit := r.push("end")
		p.shows("end")
		p.keeps(commit, 5)
	})
}

// keeps waits until a commit is served, and only a number of releases is left on the disk.
func (p *pod) keeps(commit string, most int) {
	p.t.Helper()
	eventually(p.t, "nothing is there but the releases that are kept", func() bool {
		status, err := p.status()
		if err != nil || status.Commit != commit || status.Failure != nil {
			return false
		}
		var found []string
		entries, err := os.ReadDir(p.path("volume/site/releases"))
		for _, entry := range entries {
			found = append(found, entry.Name())
		}
		slices.Sort(status.Releases)
		return err == nil && slices.Equal(found, status.Releases) && len(found) <= most
	})
}

// TestWipedRoot removes all of git's files.
func TestWipedRoot(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.push("one")
	p := startPod(t, r)
	p.shows("one")
	p.visited(func() {
		r.set(notFound)
		entries, err := os.ReadDir(p.path("volume/repository"))
		if err != nil || len(entries) == 0 {
			t.Fatalf("git's directory has %q, %v", entries, err)
		}
		for _, entry := range entries {
			// git may write there meanwhile.
			eventually(t, entry.Name()+" is removed", func() bool {
				return os.RemoveAll(filepath.Join(p.path("volume/repository"), entry.Name())) == nil
			})
		}
		p.reports(git.ReasonNotFound)
		p.showsNow("one")
		r.set(nil)
		r.push("two")
		if status := p.sync("repaired"); status.Failure != nil || status.LastContact == nil || len(status.Releases) != 2 {
			t.Errorf("the status is %+v", status)
		}
		p.showsNow("two")
	})
}

// TestEnd: the agent ends at SIGTERM, also during a fetch.
func TestEnd(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.push("one")
	p := startPod(t, r)
	p.shows("one")
	began, end := r.hold()
	defer end()
	<-began
	begin := time.Now()
	if err := p.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.process.Wait(); err != nil || time.Since(begin) > 5*time.Second {
		t.Errorf("the agent ended after %s: %v", time.Since(begin), err)
	}
	p.showsNow("one")
}

// wrapGit puts a wrapper in front of git that runs an action at the first use of a subcommand after arm.
func (p *pod) wrapGit(subcommand string) {
	p.t.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		p.t.Fatal(err)
	}
	script := fmt.Sprintf(`#!/bin/sh
GIT=%[3]s
case " $* " in *" %[1]s "*) if [ -e %[2]s/armed ] && mv %[2]s/armed %[2]s/fired 2>/dev/null; then
. %[2]s/fired
fi ;; esac
exec "$GIT" "$@"
`, subcommand, p.path("bin"), path)
	if err := os.WriteFile(p.path("bin/git"), []byte(script), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// arm enables an action of wrapGit, in which $GIT is the real git, and fired reports whether it has begun.
func (p *pod) arm(action string) {
	p.t.Helper()
	if err := os.RemoveAll(p.path("bin/fired")); err != nil {
		p.t.Fatal(err)
	}
	p.write("bin/armed", action)
}

func (p *pod) fired() bool {
	_, err := os.Stat(p.path("bin/fired"))
	return !errors.Is(err, fs.ErrNotExist)
}
