//go:build !linux

package release

// syncFileSystem does nothing: git-sync is supervised on Linux only.
func syncFileSystem(string) error { return nil }
