package app

import "runtime"

// maxDump bounds the memory that a dump of goroutines takes.
const maxDump = 16 << 20

// goroutines returns the stacks of all goroutines, cut off at maxDump.
func goroutines() string {
	for size := 1 << 16; ; size *= 4 {
		buffer := make([]byte, min(size, maxDump))
		n := runtime.Stack(buffer, true)
		if n < len(buffer) || len(buffer) == maxDump {
			return string(buffer[:n])
		}
	}
}
