//go:build !linux

package gitsync

// limitMemory does nothing: there are no such limits.
func limitMemory(int, uint64) error { return nil }
