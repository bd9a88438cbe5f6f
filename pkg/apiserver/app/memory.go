package app

import (
	"os"
	"runtime/debug"
)

// gcPercent is the garbage collection target, in percent of the memory in use. Most of
// that is in the watch cache; Go's default of 100 doubles it.
const gcPercent = 50

// limitGarbage sets the garbage collection target unless the environment does.
func limitGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
