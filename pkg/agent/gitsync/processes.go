package gitsync

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process is one of those that this process can see.
type process struct {
	pid, parent int
	// start tells two processes with the same pid apart.
	start string
	// name is the beginning of the name of the program.
	name   string
	zombie bool
}

// id identifies a process for good.
func (p process) id() string { return strconv.Itoa(p.pid) + "/" + p.start }

// processes reads all processes of the PID namespace.
func processes() ([]process, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("listing processes: /proc is not mounted")
	}
	var found []process
	for _, file := range files {
		// One that cannot be read has ended.
		if data, err := os.ReadFile(file); err == nil {
			if p, ok := parseStat(data); ok {
				found = append(found, p)
			}
		}
	}
	return found, nil
}

// parseStat reads /proc/PID/stat. The name is in parentheses, and can contain any.
func parseStat(data []byte) (process, bool) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data[:open])))
	fields := strings.Fields(string(data[end+1:]))
	const state, parent, start = 0, 1, 19
	if err != nil || len(fields) <= start {
		return process{}, false
	}
	ppid, err := strconv.Atoi(fields[parent])
	return process{
		pid: pid, parent: ppid, start: fields[start], name: string(data[open+1 : end]), zombie: fields[state] == "Z",
	}, err == nil
}

// descendants returns the processes below one, at any depth.
func descendants(all []process, pid int) []process {
	var found []process
	for _, p := range all {
		if p.parent == pid && p.pid != pid {
			found = append(append(found, p), descendants(all, p.pid)...)
		}
	}
	return found
}

// isGit reports whether a process is git's or works for it. The daemon that caches
// credentials for git-sync is neither: it outlives each command on purpose.
func (p process) isGit() bool {
	if !strings.HasPrefix(p.name, "git") && !strings.HasPrefix(p.name, "ssh") {
		return false
	}
	return !p.isCredentialCache()
}

func (p process) isCredentialCache() bool {
	command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
	return err == nil && bytes.Contains(command, []byte("credential-cache--daemon"))
}
