//go:build !linux

package devcluster

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"syscall"

	"github.com/shirou/gopsutil/v4/process"
)

// processIdentity distinguishes successive processes with the same pid by their start
// times. It fails for a process that does not exist or is a zombie.
func processIdentity(pid int) (string, error) {
	p := process.Process{Pid: int32(pid)}
	status, err := p.Status()
	started, startedErr := p.CreateTime()
	if err := errors.Join(err, startedErr); err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	if slices.Contains(status, process.Zombie) {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return strconv.FormatInt(started, 10), nil
}

// startAttributes puts a child into a session or a process group of its own. On this
// system, its life cannot be tied to its parent's.
func startAttributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}
