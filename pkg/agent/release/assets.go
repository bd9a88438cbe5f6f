package release

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"unicode"
)

// hashedName finds what could be a hash in the name of a file that pages load.
var hashedName = regexp.MustCompile(`[._~-]([0-9A-Za-z_-]{8,64})\.(?:chunk\.|bundle\.|min\.|module\.)?` +
	`(?:js|mjs|css|json|wasm|woff2?|ttf|otf|eot|svg|png|jpe?g|gif|webp|avif|ico|mp4|webm|mp3|ogg)(?:\.map|\.gz)?$`)

// IsHashed reports whether the name of a file contains a hash of its content, so that it is
// the same file in every release. Bundlers write 8 or more hexadecimal digits or letters and
// digits; words and dates are none.
func IsHashed(name string) bool {
	found := hashedName.FindStringSubmatch(name)
	if found == nil {
		return false
	}
	// A word may come before the hash: settings-panel-3f2a91bc.js.
	token := found[1]
	if i := strings.LastIndexAny(token, "-_"); i >= 0 && len(token)-i-1 >= 8 {
		token = token[i+1:]
	}
	var digits, upper, lower bool
	for i, c := range token {
		digits = digits || unicode.IsDigit(c)
		upper = upper || i > 0 && unicode.IsUpper(c)
		lower = lower || unicode.IsLower(c)
	}
	// Names such as JohnSmith have both cases as well: bundlers that write hashes of letters alone write eight.
	return digits && (upper || lower) || upper && lower && len(token) == 8
}

// keepAssets puts next to the release of a commit the hashed files of other releases that
// it lacks: pages that were loaded before still ask for them.
func (s *Store) keepAssets(commit string) error {
	commits, err := s.List()
	temporary, kept := s.path(assetsDir, unfinished+commit), s.path(assetsDir, commit)
	if err = errors.Join(err, os.RemoveAll(temporary)); err == nil {
		err = os.Mkdir(temporary, 0o755)
	}
	var sources []string
	for _, other := range commits {
		if other != commit {
			sources = append(sources, s.Path(other))
		}
	}
	for _, source := range append(sources, s.path(earlierDir)) {
		if err == nil {
			err = s.keepAssetsOf(source, commit, temporary)
		}
	}
	if err == nil {
		err = s.remove(kept)
	}
	if err == nil {
		err = os.Rename(temporary, kept)
	}
	if err != nil {
		return fmt.Errorf("keeping assets for commit %s: %w", commit, err)
	}
	return nil
}

// KeepEarlier takes a directory with hashed files of commits before the first release.
func (s *Store) KeepEarlier(dir string) error {
	if err := errors.Join(s.remove(s.path(earlierDir)), os.Rename(dir, s.path(earlierDir))); err != nil {
		return fmt.Errorf("keeping assets of earlier commits: %w", err)
	}
	return nil
}

// keepAssetsOf links the hashed files of a release that the release of a commit lacks into a directory.
func (s *Store) keepAssetsOf(release, commit, target string) error {
	// The published directory may be a hidden one.
	root := filepath.Join(release, filepath.FromSlash(s.Published))
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if path == root && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if path != root && hidden(entry.Name()) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || !IsHashed(entry.Name()) {
			return nil
		}
		name, err := filepath.Rel(release, path)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(filepath.Join(s.Path(commit), name)); err == nil {
			return nil
		}
		kept := filepath.Join(target, name)
		if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
			return err
		}
		// Of two releases the later one comes first.
		if err := os.Link(path, kept); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
}

// dropLastAssets removes the files that are kept next to releases, and that no release has any more:
// the disk has them until then.
func (s *Store) dropLastAssets() error {
	links := map[uint64][]string{}
	counts := map[uint64]uint64{}
	err := filepath.WalkDir(s.path(assetsDir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			links[stat.Ino], counts[stat.Ino] = append(links[stat.Ino], path), uint64(stat.Nlink)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing assets: %w", err)
	}
	for file, names := range links {
		if counts[file] > uint64(len(names)) {
			continue
		}
		for _, name := range names {
			if err := os.Remove(name); err != nil {
				return fmt.Errorf("removing an asset: %w", err)
			}
		}
	}
	return nil
}
