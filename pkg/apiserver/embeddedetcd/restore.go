package embeddedetcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Member is how etcd knows the only member of its cluster.
type Member struct {
	// Name of the member.
	Name string
	// PeerURL is advertised; nothing listens on it.
	PeerURL string
}

// Restore has build make the data of etcd in dataDir, which no server may use. build
// gets the directory, which is to be empty or not to exist. Data that is there is renamed to
// existing first, unless that is empty, and gets its name back if build fails.
func Restore(dataDir, existing string, build func(dir string, member Member) error) error {
	dir := etcdDir(dataDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("creating the directory of the embedded etcd: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("restricting the mode of the directory of the embedded etcd: %w", err)
	}
	lock, err := lockDir(dataDir)
	if err != nil {
		return err
	}
	data := filepath.Join(dir, dataName)
	restore, err := rename(data, existing)
	if err == nil {
		err = build(data, Member{Name: memberName, PeerURL: peerURL.String()})
	}
	if err != nil {
		err = errors.Join(err, restore())
	}
	return errors.Join(err, lock.Close())
}

// rename gives a directory another name, and returns what takes that back.
func rename(dir, name string) (back func() error, err error) {
	back = func() error { return nil }
	if name == "" {
		return back, nil
	}
	if filepath.Base(name) != name || name == "." || name == ".." {
		return back, fmt.Errorf("%q is not a file name", name)
	}
	renamed := filepath.Join(filepath.Dir(dir), name)
	if _, err := os.Lstat(renamed); err == nil {
		return back, fmt.Errorf("%s exists, and is not overwritten", renamed)
	}
	switch err := os.Rename(dir, renamed); {
	case errors.Is(err, os.ErrNotExist):
		return back, nil
	case err != nil:
		return back, fmt.Errorf("renaming the data that is there: %w", err)
	}
	return func() error { return os.Rename(renamed, dir) }, nil
}
