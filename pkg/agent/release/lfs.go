package release

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// lfsPointer is how a file begins that Git LFS has put in the place of another. The agent runs no filters, so that
	// is what is checked out.
	lfsPointer = "version https://git-lfs.github.com/spec/v1\n"
	// maxLFSPointer is more than any of them is long.
	maxLFSPointer = 1024
)

// countLFSPointers returns the number of published files of a release that are pointers to
// files in Git LFS.
func (s *Store) countLFSPointers(release string) (count int, err error) {
	root := filepath.Join(release, filepath.FromSlash(s.Published))
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != root && hidden(entry.Name()) && entry.IsDir():
			return fs.SkipDir
		case !entry.Type().IsRegular() || hidden(entry.Name()):
			return nil
		}
		pointer, err := isLFSPointer(path, entry)
		if pointer {
			count++
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("searching for Git LFS pointers: %w", err)
	}
	return count, nil
}

func isLFSPointer(path string, entry fs.DirEntry) (bool, error) {
	info, err := entry.Info()
	if err != nil || info.Size() < int64(len(lfsPointer)) || info.Size() > maxLFSPointer {
		return false, err
	}
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	begin := make([]byte, len(lfsPointer))
	if _, err := io.ReadFull(file, begin); err != nil {
		return false, err
	}
	return bytes.Equal(begin, []byte(lfsPointer)), nil
}
