package devcluster

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// processIdentity distinguishes all processes that ever have the same pid, also after a
// reboot: by the boot and the clock tick at which the process started. A time of day, as
// gopsutil derives it from them, changes whenever the machine's clock is set. It fails
// for a process that does not exist or is a zombie: a container often has no init that
// reaps it.
func processIdentity(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	// The command name is in parentheses and may itself contain any character.
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return "", fmt.Errorf("process %d: unexpected content of its stat file", pid)
	}
	fields := strings.Fields(string(stat[end+1:]))
	const state, startTime = 0, 19 // fields 3 and 22 of proc_pid_stat(5)
	if len(fields) <= startTime {
		return "", fmt.Errorf("process %d: unexpected content of its stat file", pid)
	}
	if fields[state] == "Z" || fields[state] == "X" {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading the boot id: %w", err)
	}
	return strings.TrimSpace(string(boot)) + "/" + fields[startTime], nil
}

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
