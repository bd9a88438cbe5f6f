package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// hidden are directories in which programs write files at fixed paths. In the node they are
// empty, private directories.
var hidden = []string{"/run", "/var/log"}

// fixedParent has directories at paths that no flag changes: the cache of CNI, and the
// sockets of the kubelet's device plugins. In the node these are private as well, and all
// others are the host's.
const fixedParent = "/var/lib"

var fixedNames = []string{"cni", "kubelet"}

// Hides reports whether a directory of the host cannot be seen in a node.
func Hides(dir string) bool { return slices.ContainsFunc(hides(), within(dir)) }

// hides returns all directories that differ in a node.
func hides() []string {
	all := slices.Clone(hidden)
	for _, name := range fixedNames {
		all = append(all, filepath.Join(fixedParent, name))
	}
	return all
}

func within(dir string) func(parent string) bool {
	return func(parent string) bool {
		if resolved, err := filepath.EvalSymlinks(parent); err == nil {
			parent = resolved
		}
		return dir == parent || strings.HasPrefix(dir, parent+"/")
	}
}

// mountPrivate mounts an empty directory.
func mountPrivate(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("mounting the node's own %s: %w", dir, err)
	}
	return nil
}

// mountAllBut replaces a directory by a private copy with all entries except some. Mounts over
// these entries would require that they exist on the host. The copy is made in the staging
// directory, which must not exist.
func mountAllBut(parent, staging string, private []string) (err error) {
	if err := os.Mkdir(staging, 0o755); err != nil {
		return fmt.Errorf("preparing the node's own %s: %w", parent, err)
	}
	if err := mountPrivate(staging); err != nil {
		return err
	}
	defer func() {
		if unmountErr := unix.Unmount(staging, unix.MNT_DETACH); unmountErr != nil {
			err = errors.Join(err, fmt.Errorf("unmounting %s: %w", staging, unmountErr))
			return
		}
		err = errors.Join(err, os.Remove(staging))
	}()
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("reading the host's %s: %w", parent, err)
	}
	for _, entry := range entries {
		if slices.Contains(private, entry.Name()) {
			continue
		}
		from := filepath.Join(parent, entry.Name())
		if err := bind(from, filepath.Join(staging, entry.Name()), entry.Type()); err != nil {
			return fmt.Errorf("showing the node the host's %s: %w", from, err)
		}
	}
	// Unmounting here at the end must not affect the parent, and unmounts of the host below an
	// entry must still propagate.
	if err := unix.Mount("", staging, "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("separating %s: %w", staging, err)
	}
	if err := unix.Mount(staging, parent, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounting the node's own %s: %w", parent, err)
	}
	return nil
}

// bind mounts a file or directory at a path that does not exist, and copies a link.
func bind(from, to string, kind os.FileMode) error {
	switch {
	case kind&os.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case kind.IsDir():
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
	default:
		if err := os.WriteFile(to, nil, 0o644); err != nil {
			return err
		}
	}
	return unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, "")
}
