package gitsync

import (
	"golang.org/x/sys/unix"
)

// limitData limits what a process has in memory. Files that are mapped are not counted, so packs may be larger.
func limitData(pid int, limit uint64) error {
	return unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit}, nil)
}
