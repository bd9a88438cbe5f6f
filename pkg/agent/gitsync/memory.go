package gitsync

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"k8s.io/klog/v2"
)

// minMemory is what git-sync needs to start: a program in Go maps its first heap as a whole.
const minMemory = 128 << 20

// MemoryLimit returns how much memory git-sync, and each git that it runs, may have, in bytes: three quarters of what
// the container may. The file is memory.max of its cgroup; 0 means that there is no limit, or that of
// cgroups v1.
//
// Where the kubelet finds cgroups v2, it has the kernel end all processes of a container that exceeds its memory, the
// agent as well. The pod would not be ready until it is restarted, after up to five minutes, in which all
// replicas may do the same. So it is git that fails, and says why.
func MemoryLimit(file string) (uint64, error) {
	content, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the memory limit of this container: %w", err)
	}
	text := strings.TrimSpace(string(content))
	if text == "max" {
		return 0, nil
	}
	limit, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading the memory limit of this container from %s: %w", file, err)
	}
	return max(limit/4*3, minMemory), nil
}

// LimitMemory limits the memory of a command that has just started, and of what it starts from now on.
func (s *Supervisor) LimitMemory(ctx context.Context, command *exec.Cmd) {
	if s.MemoryLimit == 0 {
		return
	}
	if err := limitData(command.Process.Pid, s.MemoryLimit); err != nil {
		klog.FromContext(ctx).Error(err, "Failed to limit the memory of a command, which may end this container", "command", command.Path)
	}
}
