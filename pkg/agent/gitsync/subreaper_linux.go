package gitsync

import (
	"fmt"
	"syscall"
)

// Adopt makes this process the parent of the processes that those below it leave behind, as
// the first process of a container is without it.
func Adopt() error {
	const setChildSubreaper = 36
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0); errno != 0 {
		return fmt.Errorf("becoming the parent of orphans: %w", errno)
	}
	return nil
}
