package gitsync

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
)

func write(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func remaining(t *testing.T, root string, names ...string) (there []string) {
	t.Helper()
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			there = append(there, name)
		}
	}
	return there
}

func TestRemoveLeftovers(t *testing.T) {
	root := t.TempDir()
	left := []string{".git/shallow.lock", ".git/worktrees/a/index.lock", ".git/refs/heads/main.lock", ".git/modules/m/config.lock",
		".git/objects/pack/tmp_pack_x", ".git/gc.pid"}
	kept := []string{".git/HEAD", ".git/objects/pack/pack-x.pack", ".worktrees/a/composer.lock", ".worktrees/a/tmp_x", "yarn.lock"}
	write(t, root, append(left, kept...)...)
	if err := os.Symlink("nowhere", filepath.Join(root, temporaryLink)); err != nil {
		t.Fatal(err)
	}
	// As in a pod: /tmp has files of other programs as well.
	temporary := t.TempDir()
	others := []string{"error.json", "git-sync-pin/error.json", "git-sync-pin/tmp-err-2"}
	write(t, temporary, append(others, "tmp-err-1")...)
	errorFile := filepath.Join(temporary, "error.json")
	if err := removeLeftovers(root, errorFile); err != nil {
		t.Fatal(err)
	}
	if got := remaining(t, temporary, append(others, "tmp-err-1")...); !slices.Equal(got, others) {
		t.Errorf("next to the error file there are %q, want %q", got, others)
	}
	if got := remaining(t, root, append(left, temporaryLink)...); len(got) > 0 {
		t.Errorf("%q are still there", got)
	}
	if got := remaining(t, root, kept...); !slices.Equal(got, kept) {
		t.Errorf("only %q are still there, want %q", got, kept)
	}
	if err := removeLeftovers(filepath.Join(root, "nowhere"), errorFile); err != nil {
		t.Errorf("before the first sync: %v", err)
	}
}

func TestRemoveOldLocks(t *testing.T) {
	root := t.TempDir()
	locks := []string{".git/index.lock", ".git/shallow.lock", ".git/worktrees/a/index.lock"}
	write(t, root, locks...)
	// One that is new may be held.
	if removed, err := removeOldLocks(root, time.Now()); err != nil || len(removed) > 0 {
		t.Errorf("removed %q, %v at once", removed, err)
	}
	if removed, err := removeOldLocks(root, time.Now().Add(time.Minute)); err != nil || len(removed) != len(locks) {
		t.Errorf("removed %q, %v, want all", removed, err)
	}
	if got := remaining(t, root, locks...); len(got) > 0 {
		t.Errorf("%q are still there", got)
	}
}

// TestRemoveIncomplete: what a failed fetch has left is removed once, and nothing that is being written.
func TestRemoveIncomplete(t *testing.T) {
	root, now := t.TempDir(), time.Now()
	s := &Supervisor{Root: root, ErrorFile: filepath.Join(root, "error.json")}
	packs := []string{".git/objects/pack/tmp_pack_a", ".git/worktrees/w/modules/m/objects/pack/tmp_pack_b"}
	write(t, root, append(packs, ".git/objects/pack/pack-c.pack")...)
	s.removeIncomplete(klog.Background(), now.Add(time.Minute))
	if got := remaining(t, root, packs...); len(got) != len(packs) {
		t.Errorf("without a failure only %q are there", got)
	}
	write(t, root, "error.json")
	s.removeIncomplete(klog.Background(), now)
	if got := remaining(t, root, packs...); len(got) != len(packs) {
		t.Errorf("of those that are being written only %q are there", got)
	}
	// Of the same failure: what it was cut off in was young then.
	s.removeIncomplete(klog.Background(), now.Add(time.Minute))
	if got := remaining(t, root, append(packs, ".git/objects/pack/pack-c.pack")...); !slices.Equal(got, []string{".git/objects/pack/pack-c.pack"}) {
		t.Errorf("after a failure %q are there, want the pack", got)
	}
	write(t, root, packs...)
	s.removeIncomplete(klog.Background(), now.Add(2*time.Minute))
	if got := remaining(t, root, packs...); len(got) != len(packs) {
		t.Error("removed again without another failure")
	}
}

// TestRemoveUnpublished: after a failure there is the published worktree, and one that was begun since.
func TestRemoveUnpublished(t *testing.T) {
	root, failed := t.TempDir(), time.Now()
	s := &Supervisor{Root: root, ErrorFile: filepath.Join(root, "error.json"), Command: []string{"/git-sync", "--link=current"}}
	old := []string{"published", "failed", "gone"}
	for _, name := range append(old, "begun") {
		write(t, root, ".git/worktrees/"+name+"/modules/m/HEAD", ".worktrees/"+name+"/.git")
		if err := os.WriteFile(filepath.Join(root, ".git/worktrees", name, "gitdir"), []byte(filepath.Join(root, ".worktrees", name, ".git")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(t, root, "error.json")
	for _, parent := range []string{".worktrees", ".git/worktrees"} {
		for _, name := range old {
			if err := os.Chtimes(filepath.Join(root, parent, name), failed, failed.Add(-time.Minute)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(filepath.Join(root, parent, "begun"), failed, failed.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.RemoveAll(filepath.Join(root, ".worktrees", "gone")), os.Symlink(filepath.Join(".worktrees", "published"), filepath.Join(root, "current")))
	if err != nil {
		t.Fatal(err)
	}
	s.removeIncomplete(klog.Background(), failed.Add(time.Minute))
	want := []string{".worktrees/published", ".git/worktrees/published", ".worktrees/begun", ".git/worktrees/begun"}
	if got := remaining(t, root, append(want, ".worktrees/failed", ".git/worktrees/failed", ".git/worktrees/gone")...); !slices.Equal(got, want) {
		t.Errorf("%q are there, want %q", got, want)
	}
}

func TestFormatOf(t *testing.T) {
	for ref, want := range map[string]string{
		strings.Repeat("a", 40): "sha1", strings.Repeat("a", 64): "sha256", "main": "", "refs/heads/main": "", strings.Repeat("a", 50): "", "": "",
	} {
		if got := formatOf(ref); got != want {
			t.Errorf("%q has the format %q, want %q", ref, got, want)
		}
	}
}

func TestParseStat(t *testing.T) {
	for stat, want := range map[string]process{
		"7 (git) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n":                 {pid: 7, parent: 1, start: "4711", name: "git"},
		"8 (a) Z (b) ) Z 7 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4712 0 0\n":           {pid: 8, parent: 7, start: "4712", name: "a) Z (b) ", zombie: true},
		"9 (git-remote-http) R 8 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4713 0 0 0 0\n": {pid: 9, parent: 8, start: "4713", name: "git-remote-http"},
	} {
		if got, ok := parseStat([]byte(stat)); !ok || got != want {
			t.Errorf("parseStat(%q) = %+v, %t, want %+v", stat, got, ok, want)
		}
	}
	for _, stat := range []string{"", "7", "7 (git", "x (git) S 1", "7 (git) S 1 7 7"} {
		if got, ok := parseStat([]byte(stat)); ok {
			t.Errorf("parseStat(%q) = %+v", stat, got)
		}
	}
}

func TestDescendants(t *testing.T) {
	all := []process{{pid: 1}, {pid: 2, parent: 1}, {pid: 3, parent: 2}, {pid: 4, parent: 3}, {pid: 5, parent: 1}}
	var pids []int
	for _, p := range descendants(all, 2) {
		pids = append(pids, p.pid)
	}
	if slices.Sort(pids); !slices.Equal(pids, []int{3, 4}) {
		t.Errorf("descendants of 2: %v", pids)
	}
}
