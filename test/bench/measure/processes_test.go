package measure

import "testing"

func TestProcesses(t *testing.T) {
	used, err := cpuTime([]byte("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0"))
	if err != nil || used.Seconds() != 2 {
		t.Errorf("got %v, %v, want 2 s", used, err)
	}
	if got := kibibytes([]byte("Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t 1024 kB\n"), "VmHWM:"); got != 2<<20 {
		t.Errorf("got %d bytes", got)
	}
	if got, err := liveHeap([]byte("heap profile\n\n# HeapAlloc = 4096\n# HeapSys = 8192\n")); err != nil || got != 4096 {
		t.Errorf("got %d, %v, want 4096 bytes", got, err)
	}
}
