// Package release makes releases of a worktree of git, and keeps the last ones.
//
// A release is a directory of hard links to the files of the worktree, named by its commit. It
// does not change while the link "current" names it, and holds neither symbolic links nor
// files of git. Everything is made under another name and then renamed, so that a release
// is there as a whole or not at all, whenever the process is killed.
package release

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/disk"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	// releasesDir has a directory for each release.
	releasesDir = "releases"
	// assetsDir has a directory for each release with the files of earlier releases that
	// it lacks and whose names contain a hash of their content.
	assetsDir = "assets"
	// earlierDir has such files of commits before the first release.
	earlierDir = "earlier"
	// currentLink names the release to serve.
	currentLink = "current"
	// unfinished is the prefix of names of directories that are being made or removed.
	unfinished = ".unfinished-"
)

// Store is a directory with releases.
type Store struct {
	// Dir is the directory that is served from. It must be in the same mount as the
	// worktrees, since hard links do not cross mounts.
	Dir string
	// Volume is the directory whose content counts towards Budget.
	Volume string
	// Published is the directory of the repository that is published. A commit without it
	// does not become a release.
	Published string
	// Index is the file that is served for a directory, or empty if the published directory needs none.
	Index string
	// Keep is the number of releases to keep, the current one included.
	Keep int
	// Budget is the size in bytes that Volume is to stay below. 0 is no limit.
	Budget int64

	// prepared is the commit whose assets are in place.
	prepared string
}

// Open creates the directories and removes the unfinished ones of a killed process.
func (s *Store) Open() error {
	if err := s.makeDirectories(); err != nil {
		return err
	}
	for _, dir := range []string{"", releasesDir, assetsDir} {
		left, _ := filepath.Glob(s.path(dir, unfinished+"*"))
		for _, path := range left {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("removing an unfinished release: %w", err)
			}
		}
	}
	return nil
}

func (s *Store) makeDirectories() error {
	for _, name := range []string{releasesDir, assetsDir, aboutDir} {
		if err := os.MkdirAll(filepath.Join(s.Dir, name), 0o755); err != nil {
			return fmt.Errorf("creating the directory of releases: %w", err)
		}
	}
	return nil
}

func (s *Store) path(elements ...string) string {
	return filepath.Join(append([]string{s.Dir}, elements...)...)
}

// Path is the directory of the release of a commit.
func (s *Store) Path(commit string) string { return s.path(releasesDir, commit) }

// Current is the commit that is served, or "".
func (s *Store) Current() string {
	target, err := os.Readlink(s.path(currentLink))
	if err != nil || filepath.Dir(target) != releasesDir || !requests.IsCommit(filepath.Base(target)) {
		return ""
	}
	if info, err := os.Lstat(s.path(target)); err != nil || !info.IsDir() {
		return ""
	}
	return filepath.Base(target)
}

// Has reports whether there is a release of a commit.
func (s *Store) Has(commit string) bool {
	info, err := os.Lstat(s.Path(commit))
	return requests.IsCommit(commit) && err == nil && info.IsDir()
}

// List returns the commits with a release, the latest published first.
func (s *Store) List() ([]string, error) {
	published, err := s.published()
	current := s.Current()
	commits := slices.SortedFunc(maps.Keys(published), func(a, b string) int {
		switch current {
		case a:
			return -1
		case b:
			return 1
		}
		return cmp.Or(published[b].Compare(published[a]), cmp.Compare(a, b))
	})
	return commits, err
}

// published returns when the commits with a release were published last: the times of their directories.
func (s *Store) published() (map[string]time.Time, error) {
	entries, err := os.ReadDir(s.path(releasesDir))
	if err != nil {
		return nil, fmt.Errorf("listing releases: %w", err)
	}
	published := map[string]time.Time{}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.IsDir() && requests.IsCommit(entry.Name()) {
			published[entry.Name()] = info.ModTime()
		}
	}
	return published, nil
}

// Prepare does all of Switch that takes long, and adds the hashed assets of the release to
// those that are served already: a page of another replica may ask for them first.
func (s *Store) Prepare(commit string) error {
	s.prepared = commit
	if err := s.keepAssets(commit); err != nil {
		return err
	}
	current := s.Current()
	if current == "" || current == commit {
		return nil
	}
	// Each is added in one step, to a directory that is being served.
	if err := s.keepAssetsOf(s.Path(commit), current, s.path(assetsDir, current)); err != nil {
		return fmt.Errorf("adding assets of commit %s: %w", commit, err)
	}
	return nil
}

// Switch serves the release of a commit, in one step, and keeps the hashed assets of
// earlier releases next to it. A failure to keep those does not hinder it.
func (s *Store) Switch(commit string, now time.Time) error {
	if !s.Has(commit) {
		return fmt.Errorf("there is no release of commit %s", commit)
	}
	var assets error
	if s.prepared != commit {
		assets = s.keepAssets(commit)
	}
	s.prepared = ""
	// The time of its last change is how a release says when it was published. It is the
	// latest even if the clock has gone back: the one before is collected last.
	published, err := s.published()
	for other, at := range published {
		if other != commit && !now.After(at) {
			now = at.Add(time.Nanosecond)
		}
	}
	temporary := s.path(unfinished + currentLink)
	err = errors.Join(err, os.Chtimes(s.Path(commit), now, now), os.RemoveAll(temporary))
	if err == nil {
		err = os.Symlink(filepath.Join(releasesDir, commit), temporary)
	}
	if err == nil {
		err = os.Rename(temporary, s.path(currentLink))
	}
	if err != nil {
		return fmt.Errorf("publishing commit %s: %w", commit, err)
	}
	return assets
}

// hasPublished reports whether a release has the published directory. Releases have no
// symbolic links, so it is not elsewhere.
func (s *Store) hasPublished(release string) bool {
	info, err := os.Lstat(filepath.Join(release, filepath.FromSlash(s.Published)))
	return err == nil && info.IsDir()
}

// Full reports whether the volume is over its budget.
func (s *Store) Full() (bool, error) {
	if s.Budget <= 0 {
		return false, nil
	}
	room, err := s.Room()
	return room < 0, err
}

// Room is the number of bytes that may be written to the volume, not positive if it is over its budget.
func (s *Store) Room() (int64, error) {
	used, err := disk.UsageOf(s.Volume)
	return s.Budget - used.Bytes, err
}

// remove removes a directory of the store. No reader sees a part of it.
func (s *Store) remove(dir string) error {
	away := filepath.Join(filepath.Dir(dir), unfinished+"removed-"+filepath.Base(dir))
	err := os.RemoveAll(away)
	if err == nil {
		err = os.Rename(dir, away)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = os.RemoveAll(away)
	}
	if err != nil {
		return fmt.Errorf("removing a release: %w", err)
	}
	return nil
}
