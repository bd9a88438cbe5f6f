package release

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// syncFileSystem writes the cached changes to the file system of a directory to its disk.
// That is one request, and not one for each file.
func syncFileSystem(dir string) error {
	file, err := os.Open(dir)
	if err == nil {
		err = errors.Join(unix.Syncfs(int(file.Fd())), file.Close())
	}
	if err != nil {
		return fmt.Errorf("writing to the disk: %w", err)
	}
	return nil
}
