//go:build linux || darwin

package embeddedetcd

import "syscall"

// freeBytes returns the number of bytes that a user without privileges may write.
func freeBytes(path string) (int64, error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return 0, err
	}
	return int64(stat.Bavail) * int64(stat.Bsize), nil
}

// device returns the device of the file system of a path.
func device(path string) (uint64, error) {
	var stat syscall.Stat_t
	err := syscall.Stat(path, &stat)
	return uint64(stat.Dev), err
}
