package devcluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// processIdentity tells apart all processes that ever have the same pid, including
// across a reboot: the boot and the clock tick at which the process started.
// It fails for a process that does not exist or is a zombie: nobody may be left to
// reap it (a container often has no init), but it has ended.
func processIdentity(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	// The command name stands in parentheses and may itself contain any character.
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

// processRuns reports whether the process was started with these arguments.
func processRuns(pid int, argv []string) bool {
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	return slices.Equal(strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00"), argv)
}

// portHolder names the process that listens on a TCP port, or returns "" if it belongs
// to another user or to another container.
func portHolder(port int) string {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			const localAddress, state, inode, listening = 1, 3, 9, "0A"
			if len(fields) > inode && fields[state] == listening && strings.HasSuffix(fields[localAddress], fmt.Sprintf(":%04X", port)) {
				inodes["socket:["+fields[inode]+"]"] = true
			}
		}
	}
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, descriptor := range descriptors {
		target, err := os.Readlink(descriptor)
		if err != nil || !inodes[target] {
			continue
		}
		pid := strings.Split(descriptor, "/")[2]
		name, _ := os.ReadFile("/proc/" + pid + "/comm")
		return fmt.Sprintf("%s (pid %s)", strings.TrimSpace(string(name)), pid)
	}
	return ""
}

// startAttributes ties a child to its parent, or sets it free from it.
func startAttributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	// A process group of its own: an interrupt from the keyboard goes to the test, which
	// then stops the components in the right order. Pdeathsig is for when it cannot.
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
