package gitsync

import (
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
	// As git does for a change of its configuration, but killed before it ends.
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
