package traffic

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// free gives the blocks of a file before an offset back to the file system. Its size stays.
func free(file *os.File, offset int64) error {
	return unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, offset)
}

// firstData returns the offset of the first block of a file that was not freed.
func firstData(file *os.File) int64 {
	if offset, err := unix.Seek(int(file.Fd()), 0, unix.SEEK_DATA); err == nil {
		return offset
	}
	offset, err := file.Seek(0, io.SeekEnd) // There is none.
	if err != nil {
		return 0
	}
	return offset
}
