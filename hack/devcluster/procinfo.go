package devcluster

import (
	"fmt"
	"slices"

	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// processRuns reports whether a process of these arguments has the pid: they name the program, and files
// and ports of one cluster. A zombie has none: a container often has no init that reaps it.
func processRuns(pid int, argv []string) bool {
	p := process.Process{Pid: int32(pid)}
	have, err := p.CmdlineSlice()
	return err == nil && slices.Equal(have, argv)
}

// portHolder names the process that listens on a TCP port, or returns "" if it belongs
// to another user or to another container.
func portHolder(port int) string {
	connections, err := net.Connections("tcp")
	if err != nil {
		return ""
	}
	for _, c := range connections {
		if c.Status == "LISTEN" && c.Laddr.Port == uint32(port) && c.Pid != 0 {
			p := process.Process{Pid: c.Pid}
			name, _ := p.Name()
			return fmt.Sprintf("%s (pid %d)", name, c.Pid)
		}
	}
	return ""
}
