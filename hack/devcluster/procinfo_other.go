//go:build !linux

package devcluster

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// processIdentity tells apart the processes that have the same pid one after the other,
// by the time they started. It fails for a process that does not exist or is a zombie.
func processIdentity(pid int) (string, error) {
	// The C locale keeps the time's format the same for every caller.
	cmd := exec.Command("ps", "-o", "state=,lstart=", "-p", strconv.Itoa(pid))
	cmd.Env = append(cmd.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	state, started, found := strings.Cut(strings.TrimSpace(string(out)), " ")
	if !found || strings.HasPrefix(state, "Z") {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return strings.Join(strings.Fields(started), " "), nil
}

// processRuns reports whether the process was started with these arguments. ps cannot
// tell where one argument ends, so the comparison ignores spaces.
func processRuns(pid int, argv []string) bool {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Join(strings.Fields(string(out)), "") == strings.Join(strings.Fields(strings.Join(argv, " ")), "")
}

// portHolder names the process that listens on a TCP port, or returns "" if lsof is
// missing or does not know.
func portHolder(port int) string {
	out, err := exec.Command("lsof", "-nP", "-Fpc", "-sTCP:LISTEN", "-iTCP:"+strconv.Itoa(port)).Output()
	if err != nil {
		return ""
	}
	var pid, name string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if after, ok := strings.CutPrefix(line, "p"); ok && pid == "" {
			pid = after
		}
		if after, ok := strings.CutPrefix(line, "c"); ok && name == "" {
			name = after
		}
	}
	if pid == "" {
		return ""
	}
	return fmt.Sprintf("%s (pid %s)", name, pid)
}

// startAttributes gives a child a session or a process group of its own. There is no way
// here to tie its life to its parent's.
func startAttributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}
