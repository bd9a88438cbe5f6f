// Package disk measures directories.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// Usage is the space that a directory takes, with each file once however many names it has.
type Usage struct {
	// Size is the number of bytes of its regular files.
	Size int64
	// Unshared is the part of Size of the files with only one name.
	Unshared int64
	// Bytes is the space on the disk.
	Bytes int64
	// Inodes is the number of files and directories.
	Inodes int64
}

// Free is the space in bytes that is left on the disk of a directory.
func Free(dir string) (int64, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("measuring the disk of %s: %w", dir, err)
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil
}

// UsageOf measures a directory, in which git may work meanwhile.
func UsageOf(dir string) (used Usage, err error) {
	seen := map[uint64]bool{}
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil {
			info, err = entry.Info()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && !seen[stat.Ino] {
			seen[stat.Ino] = true
			used.Bytes += stat.Blocks * 512
			used.Inodes++
			if info.Mode().IsRegular() {
				used.Size += info.Size()
				if stat.Nlink == 1 {
					used.Unshared += info.Size()
				}
			}
		}
		return nil
	})
	if err != nil {
		return Usage{}, fmt.Errorf("measuring %s: %w", dir, err)
	}
	return used, nil
}
