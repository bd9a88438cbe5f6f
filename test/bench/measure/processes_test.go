package measure

import (
	"os"
	"testing"
)

func TestProcesses(t *testing.T) {
	if used, err := (Processes{"this": os.Getpid()}).CPU(); err != nil || len(used) != 1 {
		t.Errorf("got %v, %v, want the CPU time of this process", used, err)
	}
	if used, err := (Processes{"none": 1 << 30}).CPU(); err == nil {
		t.Errorf("got %v of no process", used)
	}
	if got := kibibytes([]byte("Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t 1024 kB\n"), "VmHWM:"); got != 2<<20 {
		t.Errorf("got %d bytes", got)
	}
	if got, err := liveHeap([]byte("heap profile\n\n# HeapAlloc = 4096\n# HeapSys = 8192\n")); err != nil || got != 4096 {
		t.Errorf("got %d, %v, want 4096 bytes", got, err)
	}
}
