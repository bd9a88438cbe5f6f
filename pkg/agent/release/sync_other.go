//go:build !linux

package release

// syncFileSystem does nothing: agents run on Linux only.
func syncFileSystem(string) error { return nil }
