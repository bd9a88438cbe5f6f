package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// documentation is half of the bytes, and left out of images.
var documentation = []string{"usr/share/doc/", "usr/share/man/", "usr/share/info/", "usr/share/locale/",
	"usr/share/lintian/", "usr/share/bash-completion/", "usr/share/bug/", "usr/share/zoneinfo/"}

// Apt runs apt-get with arguments and returns its output.
type Apt func(ctx context.Context, args ...string) (string, error)

// DownloadDebian downloads packages and all their dependencies into a new directory in dir,
// also if they are installed, and returns their files. apt-get verifies them as it does for
// the system itself. No package is installed.
func DownloadDebian(ctx context.Context, apt Apt, dir string, packages ...string) ([]string, error) {
	directory, err := os.MkdirTemp(dir, "debian-")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for Debian's packages: %w", err)
	}
	archives, status := filepath.Join(directory, "archives"), filepath.Join(directory, "status")
	if err := errors.Join(os.MkdirAll(filepath.Join(archives, "partial"), 0o755),
		os.WriteFile(status, nil, 0o644)); err != nil {
		return nil, fmt.Errorf("creating a directory for Debian's packages: %w", err)
	}
	args := append([]string{
		// The list of installed packages is empty, so that all dependencies are downloaded.
		"-o", "Dir::State::status=" + status,
		"-o", "Dir::State::extended_states=" + filepath.Join(directory, "extended"),
		"-o", "Dir::Cache::archives=" + archives,
		"-o", "Debug::NoLocking=true",
		// apt's user for downloads cannot write into a directory of root's.
		"-o", "APT::Sandbox::User=root",
		"--yes", "--no-install-recommends", "--download-only", "install"}, packages...)
	if _, err := apt(ctx, args...); err != nil {
		if _, updateErr := apt(ctx, "update"); updateErr != nil {
			return nil, errors.Join(err, updateErr)
		}
		if _, err := apt(ctx, args...); err != nil {
			return nil, err
		}
	}
	files, err := filepath.Glob(filepath.Join(archives, "*.deb"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("apt-get fetched none of %s", strings.Join(packages, ", "))
	}
	slices.Sort(files)
	return files, nil
}

// AddDebian adds the files of packages, without documentation. Their scripts do not run.
func (l *Layer) AddDebian(ctx context.Context, files ...string) error {
	for _, file := range files {
		cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", file)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		stdout, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", filepath.Base(file), err)
		}
		err = l.AddTar(stdout, skipDocumentation)
		_, _ = io.Copy(io.Discard, stdout)
		if err := errors.Join(err, cmd.Wait()); err != nil {
			return fmt.Errorf("unpacking %s: %w: %s", filepath.Base(file), err, stderr.String())
		}
	}
	return nil
}

func skipDocumentation(name string) bool {
	return slices.ContainsFunc(documentation, func(prefix string) bool { return strings.HasPrefix(name+"/", prefix) })
}
