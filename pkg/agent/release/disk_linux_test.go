package release

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestFullDisk: the published release stays, and a new one follows once there is room.
func TestFullDisk(t *testing.T) {
	r := newRepository(t)
	volume := t.TempDir()
	if err := syscall.Mount("tmpfs", volume, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(volume, 0); err != nil {
			t.Error(err)
		}
	})
	root := filepath.Join(volume, "root")
	r.dir = root
	s := newStore(t, r)
	first := s.publish(t, r, map[string]string{"index.html": "one"})
	source := r.commit(map[string]string{"index.html": "two", "docs/page.html": "page"})
	commit := source.Commit
	filler := filepath.Join(volume, "filler")
	file, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	makeErr := s.Make(t.Context(), source)
	if makeErr == nil {
		// Hard links need no room here.
		makeErr = s.Switch(commit, time.Now())
	}
	t.Logf("on the full disk: %v", makeErr)
	if current := s.Current(); current != first && current != commit || files(t, s.Path(current))["index.html"] == "" {
		t.Errorf("on the full disk %q is served", current)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := s.Make(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	s.serve(t, commit)
	if s.Current() != commit {
		t.Errorf("with room again %q is served, want %q", s.Current(), commit)
	}
}
