package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// checkout is a copy of the user's checkout.
type checkout struct{ dir string }

// newCheckout copies the files of a checkout unchanged, tracked or not. The copy has the history
// as well, from which tests of upgrades build the previous release.
func newCheckout(root, dir string) (checkout, error) {
	c := checkout{dir}
	if _, err := run(root, "git", "clone", "--quiet", "--shared", "--no-checkout", root, dir); err != nil {
		return c, err
	}
	if _, err := run(dir, "git", "reset", "--quiet"); err != nil {
		return c, err
	}
	names, err := run(root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return c, err
	}
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == 0 }) {
		// The index can still contain a removed file.
		err := copyFile(filepath.Join(root, name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	return c, nil
}

func copyFile(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}

// apply changes the copy by the patch of a mutant.
func (c checkout) apply(m mutant, flags ...string) error {
	cmd := exec.Command("git", append([]string{"apply"}, flags...)...)
	cmd.Dir, cmd.Stdin = c.dir, strings.NewReader(m.patch)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// compile builds the packages that a mutant changes.
func (c checkout) compile(m mutant) error {
	for _, file := range m.files {
		if filepath.Ext(file) != ".go" {
			continue
		}
		if _, err := run(filepath.Join(c.dir, filepath.Dir(file)), "go", "build", "-o", os.DevNull, "."); err != nil {
			return err
		}
	}
	return nil
}

// run returns the standard output of a command, or an error with all of its output.
func run(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var complaints strings.Builder
	cmd.Stderr = &complaints
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", cmd, err, complaints.String())
	}
	return string(output), nil
}
