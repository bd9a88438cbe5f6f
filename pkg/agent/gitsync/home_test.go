package gitsync

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// TestHome: each git-sync begins with an empty home directory, in which no other one works.
func TestHome(t *testing.T) {
	dir := t.TempDir()
	homes := filepath.Join(dir, "homes")
	// As a git does that is killed while it changes its configuration.
	script := `set -o noclobber; echo > "$HOME/.gitconfig.lock" && echo "$HOME" >>` + homes
	s := &Supervisor{
		Command: []string{"sh", "-c", script}, Root: filepath.Join(dir, "root"), ErrorFile: filepath.Join(dir, "error"),
		Timeout: time.Minute, Clock: clock.RealClock{},
	}
	for range 2 {
		if err := s.runOnce(t.Context()); err != nil {
			t.Errorf("git-sync has ended: %v", err)
		}
	}
	if _, err := s.FetchCommit(t.Context(), filepath.Join(dir, "pin"), "current", strings.Repeat("a", 40)); err == nil {
		t.Error("a commit was fetched by a git-sync that fetches nothing")
	}
	written, err := os.ReadFile(homes)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(string(written))
	if len(got) != 3 || got[0] != got[1] || got[1] == got[2] {
		t.Errorf("the home directories were %q, want those of two starts and one of its own for the commit", got)
	}
}

// TestTemporaryFiles: what git-sync and its killed gits leave in temporary directories at each start does not fill
// the volume, and those of a git-sync that runs beside it stay.
func TestTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	// As git-sync makes its configuration, and is killed while it writes its error file.
	script := `
for argument; do case "$argument" in --error-file=*) error="${argument#*=}";; --one-time) once=yes;; esac; done
config="$TMPDIR/git-sync.gitconfig.$$"
: > "$config"; : > "$(dirname "$error")/tmp-err-$$"
if [ -n "$once" ]; then : > ` + filepath.Join(dir, "begun") + `; until [ -e ` + filepath.Join(dir, "go-on") + ` ]; do sleep 0.01; done; fi
if [ -e "$config" ] && [ -e "$(dirname "$error")/tmp-err-$$" ]; then echo kept >> ` + filepath.Join(dir, "kept") + `; fi
`
	errorFile := filepath.Join(dir, "error.json")
	s := &Supervisor{
		Command: []string{"sh", "-c", script, "git-sync", "--error-file=" + errorFile}, Root: filepath.Join(dir, "root"), ErrorFile: errorFile,
		Timeout: time.Minute, Clock: clock.RealClock{},
	}
	fetched := make(chan error, 1)
	go func() {
		_, err := s.FetchCommit(t.Context(), filepath.Join(dir, "pin"), "current", strings.Repeat("a", 40))
		fetched <- err
	}()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, "begun")); err == nil {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("the second git-sync was not started")
		}
	}
	const starts = 5
	for range starts {
		// As Run does.
		if err := errors.Join(removeLeftovers(s.Root, s.ErrorFile), s.runOnce(t.Context())); err != nil {
			t.Errorf("git-sync has ended: %v", err)
		}
	}
	write(t, dir, "go-on")
	if err := <-fetched; err == nil {
		t.Error("a commit was fetched by a git-sync that fetches nothing")
	}
	if kept, err := os.ReadFile(filepath.Join(dir, "kept")); err != nil || strings.Count(string(kept), "kept") != starts+1 {
		t.Errorf("%d of %d have kept their files: %v", strings.Count(string(kept), "kept"), starts+1, err)
	}
	left := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		for _, prefix := range []string{"git-sync.gitconfig.", "tmp-err-"} {
			if strings.HasPrefix(filepath.Base(path), prefix) {
				left[prefix]++
			}
		}
		return err
	})
	if want := map[string]int{"git-sync.gitconfig.": 2, "tmp-err-": 2}; err != nil || !maps.Equal(left, want) {
		t.Errorf("after %d starts there are %v, %v, want %v: those of the last two", starts+1, left, err, want)
	}
}
