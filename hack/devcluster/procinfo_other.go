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

// processIdentity tells apart the processes that have the same pid one after the other,
// by the time they started. It fails for a process that does not exist or is a zombie.
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

// startAttributes gives a child a session or a process group of its own. There is no way
// here to tie its life to its parent's.
func startAttributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}
