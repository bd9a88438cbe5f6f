package agent

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// MemoryLimit returns how much memory each process of git may have, in bytes: three quarters of the container's limit.
// The file is memory.max of its cgroup; 0 means no limit, or a limit of cgroups v1.
//
// With cgroups v2, the kernel ends all processes of a container that exceeds its memory, the agent as well. The pod
// would not be ready until it is restarted, after up to five minutes. So it is git that fails, and says why.
func MemoryLimit(file string) (int64, error) {
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
	limit, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading the memory limit of this container from %s: %w", file, err)
	}
	return limit / 4 * 3, nil
}
