package node

import (
	"fmt"
	"syscall"
)

// DiskSize returns the size of the file system that a path is on, in bytes.
func DiskSize(path string) (uint64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(path, &disk); err != nil {
		return 0, fmt.Errorf("reading the size of the file system of %s: %w", path, err)
	}
	return disk.Blocks * uint64(disk.Bsize), nil
}
