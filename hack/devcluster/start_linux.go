package devcluster

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

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

// setTimerSlack sets the timer slack (PR_SET_TIMERSLACK of prctl(2)) of the calling thread, which the processes that it
// starts inherit.
func setTimerSlack(slack time.Duration) error {
	if slack == 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack.Nanoseconds()), 0, 0, 0); err != nil {
		return fmt.Errorf("setting the timer slack: %w", err)
	}
	return nil
}
