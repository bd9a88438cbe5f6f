package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// partialPattern names files that are being written. They are hidden, and removed
// unless the process is killed.
const partialPattern = ".website-store-*.partial"

// file is written under another name until it is complete.
type file struct {
	*os.File
}

// createIn creates a file in dir that only its owner can read.
func createIn(dir string) (*file, error) {
	created, err := os.CreateTemp(dir, partialPattern)
	if err != nil {
		return nil, fmt.Errorf("creating a file: %w", err)
	}
	return &file{created}, nil
}

// sync makes the content durable.
func (f *file) sync() error {
	if err := f.Sync(); err != nil {
		return fmt.Errorf("writing %s to the disk: %w", f.Name(), err)
	}
	return nil
}

// publish gives the file its name, unless that is taken, and makes it durable.
func (f *file) publish(path string) error {
	if err := f.sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("closing %s: %w", f.Name(), err)
	}
	if err := rename(f.Name(), path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

// discard removes the file if it was not published.
func (f *file) discard() {
	_ = f.Close()
	_ = os.Remove(f.Name())
}

// rename does not replace a file. A hard link fails for a name that is taken, which a
// rename would not.
func rename(from, to string) error {
	err := os.Link(from, to)
	switch {
	case err == nil:
		return os.Remove(from)
	case errors.Is(err, fs.ErrExist):
		return taken(to)
	}
	// The file system has no hard links.
	if err := vacant(to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// vacant returns an error if a file of that name exists.
func vacant(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			return fmt.Errorf("looking for %s: %w", path, err)
		}
		return taken(path)
	}
	return nil
}

func taken(path string) error {
	return fmt.Errorf("%s exists, and is not overwritten: choose another name, or remove it", path)
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening the directory %s: %w", path, err)
	}
	defer dir.Close() //nolint:errcheck // Nothing was written through it.
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("writing the directory %s to the disk: %w", path, err)
	}
	return nil
}

// isDirectory reports whether path is a directory.
func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
