package measure

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/process"
)

// Processes are the serving processes of a run, by name.
type Processes map[string]int

// CPU returns the CPU time that each process has used.
func (p Processes) CPU() (map[string]time.Duration, error) {
	used := map[string]time.Duration{}
	for name, pid := range p {
		times, err := (&process.Process{Pid: int32(pid)}).Times()
		if err != nil {
			return nil, fmt.Errorf("reading the CPU time of %s: %w", name, err)
		}
		used[name] = time.Duration((times.User + times.System) * float64(time.Second))
	}
	return used, nil
}

// Used returns the CPU time that each process takes for what run does, and how long it took.
func (p Processes) Used(run func() error) (used map[string]time.Duration, elapsed time.Duration, err error) {
	before, err := p.CPU()
	if err != nil {
		return nil, 0, err
	}
	begin := time.Now()
	if err := run(); err != nil {
		return nil, 0, err
	}
	elapsed = time.Since(begin)
	if used, err = p.CPU(); err != nil {
		return nil, 0, err
	}
	for name := range used {
		used[name] -= before[name]
	}
	return used, elapsed, nil
}

// Memory returns the current and the highest resident memory of each process, in bytes.
func (p Processes) Memory() (current, peak map[string]int64, err error) {
	current, peak = map[string]int64{}, map[string]int64{}
	for name, pid := range p {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return nil, nil, fmt.Errorf("reading the memory of %s: %w", name, err)
		}
		current[name], peak[name] = kibibytes(status, "VmRSS:"), kibibytes(status, "VmHWM:")
	}
	return current, peak, nil
}

// kibibytes returns a value of /proc/PID/status in bytes, or 0.
func kibibytes(status []byte, key string) int64 {
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == key {
			value, err := strconv.ParseInt(fields[1], 10, 64)
			if err == nil {
				return value << 10
			}
		}
	}
	return 0
}

// liveHeap reads the bytes on the heap from a heap profile with debug=1.
func liveHeap(profile []byte) (int64, error) {
	_, after, found := strings.Cut(string(profile), "# HeapAlloc = ")
	if !found {
		return 0, errors.New("the heap profile has no HeapAlloc")
	}
	value, _, _ := strings.Cut(after, "\n")
	return strconv.ParseInt(value, 10, 64)
}

// BusyLoad is a load average per CPU above which a machine is called busy.
const BusyLoad = 0.25

// LoadAverage is the number of running and waiting threads of the machine in the last
// minute; 0 if it is unknown.
func LoadAverage() float64 {
	average, err := load.Avg()
	if err != nil {
		return 0
	}
	return average.Load1
}
