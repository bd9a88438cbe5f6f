package node

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces are the namespaces of a node, in the order in which a thread must enter
// them: after the mounts, /proc no longer shows the processes of the host.
var namespaces = []struct {
	file string
	flag int
}{
	{"pid", unix.CLONE_NEWPID},
	{"net", unix.CLONE_NEWNET},
	{"mnt", unix.CLONE_NEWNS},
}

// The runtime cannot end a process's first thread: once in a node, it would stay there,
// and keep the node's namespaces, until the process ends. While the main goroutine is
// locked to it, no other can use it.
func init() { runtime.LockOSThread() }

// Enter moves the calling thread into the node whose first process is pid: programs that
// it starts run there. The caller has called runtime.LockOSThread and never unlocks: the
// thread must not run anything else afterwards.
func Enter(pid int) (err error) {
	var open []*os.File
	defer func() {
		for _, file := range open {
			err = errors.Join(err, file.Close())
		}
	}()
	for _, ns := range namespaces {
		file, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, ns.file))
		if err != nil {
			return fmt.Errorf("finding the node's namespaces: %w", err)
		}
		open = append(open, file)
	}
	// Threads share their root and working directory, and the kernel forbids such
	// threads to change their mounts.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unsharing the thread's working directory: %w", err)
	}
	for i, ns := range namespaces {
		if err := unix.Setns(int(open[i].Fd()), ns.flag); err != nil {
			return fmt.Errorf("entering the node's %s namespace: %w", ns.file, err)
		}
	}
	return nil
}

// Isolate makes a process that is about to be started the first one of a new node. The
// process must call Init.
func Isolate(attributes *syscall.SysProcAttr) {
	for _, ns := range namespaces {
		attributes.Cloneflags |= uintptr(ns.flag)
	}
}
