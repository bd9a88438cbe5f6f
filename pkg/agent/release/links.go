package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxLinks is the longest chain of symbolic links, as in Linux.
	maxLinks = 40
	// maxLookups limits the length of all paths that are looked up to resolve the links of a release, which takes
	// a few seconds. 20,000 links may have 30 lookups of paths of 90 bytes each; most links need less than ten.
	maxLookups = 128 << 20
	// perLookup is the cost of a lookup besides the bytes of its path.
	perLookup = 128
)

var (
	// errRefused is a link that is not served.
	errRefused = errors.New("refused")
	// ErrTooLarge is a commit whose release would take more than a release may.
	ErrTooLarge = errors.New("the commit is too large")
)

// spend counts what resolving a link takes.
func (t *tree) spend(lookups int) error {
	if t.lookups += lookups; t.lookups > maxLookups {
		return fmt.Errorf("%w: its symbolic links lead through too many directories and other links", ErrTooLarge)
	}
	return nil
}

// link puts the target of a symbolic link in its place, so that a release has no links.
// A target that is not served is left out.
func (t *tree) link(ctx context.Context, source, target string, active []string) error {
	real, err := t.resolve(source)
	if err == nil && t.loops(real, source, active) {
		err = errRefused
	}
	if errors.Is(err, errRefused) {
		t.warn(WarningLinks, target)
		return nil
	}
	if err != nil {
		return err
	}
	info, err := os.Lstat(filepath.Join(t.source, real))
	switch {
	case err != nil:
		return err
	case info.Mode().IsRegular():
		return t.file(real, target)
	case !info.IsDir():
		t.warn(WarningLinks, target)
		return nil
	}
	if err := os.Mkdir(filepath.Join(t.target, target), 0o755); err != nil {
		return err
	}
	return t.directory(ctx, real, target, append(slices.Clip(active), real, filepath.Dir(source)))
}

// loops reports whether a directory contains the link that leads to it, or one of those on
// the way to that.
func (t *tree) loops(real, source string, active []string) bool {
	contains := func(path string) bool {
		return real == "." || path == real || strings.HasPrefix(path, real+string(filepath.Separator))
	}
	return contains(source) || slices.ContainsFunc(active, contains)
}

// resolve returns the path of the target of a link in the worktree, without links. The path of the link has no links
// before its last element. It returns errRefused for a path that leaves the worktree, is hidden, or does not exist, and
// ErrTooLarge if the links of the release take too much.
func (t *tree) resolve(link string) (string, error) {
	const separator = string(filepath.Separator)
	var done []string
	if dir := filepath.Dir(link); dir != "." {
		done = strings.Split(dir, separator)
	}
	rest := filepath.Base(link)
	for links, more := 0, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, separator)
		if err := t.spend(1); err != nil {
			return "", err
		}
		switch {
		case name == "" || name == ".":
			continue
		case name == ".." && len(done) == 0:
			return "", errRefused
		case name == "..":
			done = done[:len(done)-1]
			continue
		case links > 0 && hidden(name):
			return "", errRefused
		}
		path := filepath.Join(append(slices.Clone(done), name)...)
		if err := t.spend(len(path) + perLookup); err != nil {
			return "", err
		}
		info, err := os.Lstat(filepath.Join(t.source, path))
		if errors.Is(err, fs.ErrNotExist) {
			return "", errRefused
		}
		if err == nil && more && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
			return "", errRefused
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = append(done, name)
			continue
		}
		if links++; links > maxLinks {
			return "", errRefused
		}
		target, err := os.Readlink(filepath.Join(t.source, path))
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			return "", errRefused
		}
		if more {
			target += separator + rest
		}
		// What follows the links before is copied as well.
		if err := t.spend(len(target)); err != nil {
			return "", err
		}
		rest, more = target, true
	}
	return filepath.Join(append([]string{"."}, done...)...), nil
}

// hidden reports whether a file or directory is not served: its name begins with a dot.
func hidden(name string) bool { return strings.HasPrefix(name, ".") && name != ".well-known" }
