package git

import (
	"os"
	"syscall"
	"testing"
)

func mustLink(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Link(from, to); err != nil {
		t.Fatal(err)
	}
}

func inodeOf(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

func killGroup(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }
