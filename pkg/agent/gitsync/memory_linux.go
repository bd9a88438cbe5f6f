package gitsync

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// limitMemory limits the memory of a process, and of those that it starts from now on. Files that are mapped are not
// counted, so packs may be larger.
func limitMemory(pid int, limit uint64) error {
	if limit == 0 {
		return nil
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
		return fmt.Errorf("limiting the memory of git-sync: %w", err)
	}
	return nil
}
