//go:build !linux

package gitsync

import "errors"

// Adopt is not supported.
func Adopt() error { return errors.New("git-sync can be supervised on Linux only") }
