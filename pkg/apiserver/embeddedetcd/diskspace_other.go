//go:build !linux && !darwin

package embeddedetcd

import "math"

// freeBytes is not known on this system.
func freeBytes(string) (int64, error) { return math.MaxInt64, nil }

// device is not known on this system.
func device(string) (uint64, error) { return 0, nil }
