package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Install copies the running program to a path, in the place of an earlier copy.
func Install(path string) (err error) {
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	in, err := os.Open(executable)
	if err != nil {
		return fmt.Errorf("reading this program: %w", err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.CreateTemp(filepath.Dir(path), ".agent-")
	if err != nil {
		return fmt.Errorf("installing the agent: %w", err)
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(0o755), out.Close())
	if err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("installing the agent: %w", errors.Join(err, os.Remove(out.Name())))
	}
	return nil
}
