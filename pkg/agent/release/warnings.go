package release

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Warning is a problem of a release that is served all the same. Warnings are stable: the controller reads them.
type Warning string

const (
	// WarningIndexMissing is a published directory without an index.
	WarningIndexMissing Warning = "IndexMissing"
	// WarningLFSPointers are files that Git LFS has put in the place of others.
	WarningLFSPointers Warning = "LFSPointers"
	// WarningOtherHosts are files of OtherHosts.
	WarningOtherHosts Warning = "OtherHosts"
	// WarningSubmodules are submodules that are not fetched.
	WarningSubmodules Warning = "SubmodulesMissing"
)

// OtherHosts are the files in the published directory that configure other hosts of pages. They have no effect.
var OtherHosts = []string{"_headers", "_redirects", "netlify.toml", "wrangler.toml", "wrangler.json", "wrangler.jsonc"}

const (
	// lfsPointer is how a file begins that Git LFS has put in the place of another. The agent runs no filters, so that
	// is what is checked out.
	lfsPointer = "version https://git-lfs.github.com/spec/v1\n"
	// maxLFSPointer is more than any of them is long.
	maxLFSPointer = 1024
)

// warn adds a warning once.
func (t *tree) warn(warning Warning) {
	if !slices.Contains(t.made.Warnings, warning) {
		t.made.Warnings = append(t.made.Warnings, warning)
	}
}

// isServed reports whether a path of the release can be requested.
func (t *tree) isServed(path string) bool {
	below, err := filepath.Rel(filepath.FromSlash(t.published), path)
	return err == nil && !slices.ContainsFunc(strings.Split(below, string(filepath.Separator)), hidden)
}

// checkPublished adds the warnings about the published directory.
func (t *tree) checkPublished(index string) {
	has := func(name string) bool {
		info, err := os.Lstat(filepath.Join(t.target, t.published, name))
		return err == nil && info.Mode().IsRegular()
	}
	if index != "" && !has(index) {
		t.warn(WarningIndexMissing)
	}
	if slices.ContainsFunc(OtherHosts, has) {
		t.warn(WarningOtherHosts)
	}
}

func isLFSPointer(path string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil || info.Size() < int64(len(lfsPointer)) || info.Size() > maxLFSPointer {
		return false, err
	}
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	begin := make([]byte, len(lfsPointer))
	_, err = io.ReadFull(file, begin)
	return bytes.Equal(begin, []byte(lfsPointer)), err
}
