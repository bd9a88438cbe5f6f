package framework

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// ContainerProcesses are the processes in the cgroup of a container of the real node.
func ContainerProcesses(t *testing.T, container string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(data), container) {
			continue // ended, or not ours
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}
