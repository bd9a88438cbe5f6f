package devcluster

import "syscall"

// startAttributes ties a child to its parent, or detaches it.
func startAttributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	// It has a process group of its own: an interrupt from the keyboard goes to the
	// test, which then stops the components in the right order. Pdeathsig covers a
	// killed test.
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
