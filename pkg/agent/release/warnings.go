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
	// WarningLinks are symbolic links that are left out: they lead out of the repository, to something hidden, to
	// themselves, or nowhere.
	WarningLinks Warning = "LinksRefused"
	// WarningOtherHosts are files of OtherHosts.
	WarningOtherHosts Warning = "OtherHosts"
	// WarningSubmodules are submodules that are not fetched.
	WarningSubmodules Warning = "SubmodulesMissing"
)

// OtherHosts are the files in the published directory that configure other hosts of pages. They have no effect.
var OtherHosts = []string{"_headers", "_redirects", "netlify.toml", "wrangler.toml", "wrangler.json", "wrangler.jsonc"}

const (
	// lfsPointer is the beginning of a file that Git LFS has put in the place of another. The agent runs no filters, so
	// git checks out the pointer.
	lfsPointer = "version https://git-lfs.github.com/spec/v1\n"
	// maxLFSPointer is more than the size of any of them.
	maxLFSPointer = 1024
)

// warn adds a warning about a path of the release, once, if the path can be requested.
func (t *tree) warn(warning Warning, path string) {
	below, err := filepath.Rel(filepath.FromSlash(t.published), path)
	if err == nil && !slices.Contains(t.warnings, warning) &&
		!slices.ContainsFunc(strings.Split(below, string(filepath.Separator)), hidden) {
		t.warnings = append(t.warnings, warning)
	}
}

// checkPublished adds the warnings about the published directory.
func (t *tree) checkPublished(index string) {
	has := func(name string) bool {
		info, err := os.Lstat(filepath.Join(t.target, t.published, name))
		return err == nil && info.Mode().IsRegular()
	}
	if index != "" && !has(index) {
		t.warnings = append(t.warnings, WarningIndexMissing)
	}
	if slices.ContainsFunc(OtherHosts, has) {
		t.warnings = append(t.warnings, WarningOtherHosts)
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
