//go:build !linux && !darwin

package embeddedetcd

import "math"

// freeBytes is unknown on this system.
func freeBytes(string) (int64, error) { return math.MaxInt64, nil }

// device is unknown on this system.
func device(string) (uint64, error) { return 0, nil }
