package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// roleNode makes the test binary the first process of a node. Its next argument is the
// directory whose entries it has except for two.
const roleNode = "role-node"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == roleNode {
		if err := useAllBut(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// useAllBut uses the entries as programs of a node do.
func useAllBut(parent string) error {
	if err := errors.Join(
		unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""),
		unix.Mount("", "/", "", unix.MS_SHARED|unix.MS_REC, ""),
		mountAllBut(parent, parent+"-staging", []string{"private", "absent"}),
	); err != nil {
		return err
	}
	if _, err := os.Lstat(parent + "-staging"); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the staging directory is still there: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(parent, "private")); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the host's private directory is seen: %v", err)
	}
	for _, dir := range []string{"private", "absent"} {
		if err := os.MkdirAll(filepath.Join(parent, dir, "of-the-node"), 0o755); err != nil {
			return err
		}
	}
	for path, want := range map[string]string{"directory/file": "1", "file": "2", "link": "1", "mounted/file": "3"} {
		if got, err := os.ReadFile(filepath.Join(parent, path)); string(got) != want {
			return fmt.Errorf("%s has %q, want %q: %v", path, got, want, err)
		}
	}
	return os.WriteFile(filepath.Join(parent, "directory", "written"), nil, 0o644)
}

func TestFixedPaths(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("namespaces require root")
	}
	if err := canIsolate(t.Context()); err != nil {
		t.Skip(err)
	}
	parent := filepath.Join(t.TempDir(), "parent")
	for path, content := range map[string]string{
		"directory/file": "1", "file": "2", "private/of-the-host": "", "mounted/hidden": "",
	} {
		path = filepath.Join(parent, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("directory/file", filepath.Join(parent, "link")); err != nil {
		t.Fatal(err)
	}
	// This mount is below an entry, as a container's is.
	mounted := filepath.Join(parent, "mounted")
	if err := mountPrivate(mounted); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(mounted, 0); err != nil {
			t.Errorf("the host's mount is used after the node has ended: %v", err)
		}
	})
	if err := os.WriteFile(filepath.Join(mounted, "file"), []byte("3"), 0o600); err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(t.Context(), os.Args[0], roleNode, parent)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	Isolate(cmd.SysProcAttr)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	var got []string
	entries, err := os.ReadDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if want := "[directory file link mounted private]"; fmt.Sprint(got) != want {
		t.Errorf("the host has %v, want %s", got, want)
	}
	if _, err := os.Lstat(filepath.Join(parent, "private", "of-the-node")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the node has written to the host's private directory: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(parent, "directory", "written")); err != nil {
		t.Errorf("a file that the node writes elsewhere is not on the host: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(mounted, "file")); err != nil {
		t.Errorf("the host's mount is gone: %v", err)
	}
}
