//go:build !linux

package devcluster

import "syscall"

// startAttributes puts a child into a session or a process group of its own. On this
// system, its life cannot be tied to its parent's.
func startAttributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}
