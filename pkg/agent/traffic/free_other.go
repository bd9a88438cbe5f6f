//go:build !linux

package traffic

import (
	"errors"
	"os"
)

func free(*os.File, int64) error { return errors.ErrUnsupported }

func firstData(*os.File) int64 { return 0 }
