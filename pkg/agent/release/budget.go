package release

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kubesites/website-apiserver/pkg/agent/disk"
)

// reserved is how often the current release must fit into the rest of the budget: the
// next fetch, its worktree, and git's repacking, which holds the old pack and the new one.
const reserved = 3

// bytesPerInode is the number of bytes of a file system for each inode, as mkfs.ext4
// makes it. A volume is not to take more inodes than its share of these: the kubelet evicts
// pods when its node runs out of them.
const bytesPerInode = 16 << 10

// bytesPerFile is the required number of bytes of the volume for each file or directory of a commit. A file that is not
// empty takes at least a block of 4 KiB, and a new commit is checked out while the one before is there.
const bytesPerFile = 8 << 10

// maxFiles is the maximum number of files and directories of a release without a budget.
const maxFiles = 1 << 20

// MaxFiles is the maximum number of files and directories of a release.
func (s *Store) MaxFiles() int64 {
	if s.Budget <= 0 {
		return maxFiles
	}
	return s.Budget / bytesPerFile
}

// Collect removes releases that are not to be kept, and more of them, the oldest first,
// while the volume is over its budget of bytes or inodes. The current release and the
// pinned one, if any, are always kept.
func (s *Store) Collect(pinned string) error {
	commits, err := s.List()
	if err != nil {
		return err
	}
	if i := slices.Index(commits, pinned); i > 1 {
		// What comes first is dropped last.
		commits = slices.Insert(slices.Delete(commits, i, i+1), 1, pinned)
	}
	least := 1
	if len(commits) > 1 && commits[1] == pinned {
		least = 2
	}
	for len(commits) > max(s.Keep, least) {
		if err := s.drop(commits[len(commits)-1]); err != nil {
			return err
		}
		commits = commits[:len(commits)-1]
	}
	if err := s.collectOrphans(); err != nil {
		return err
	}
	if s.Budget <= 0 || len(commits) == 0 {
		return nil
	}
	current, err := disk.UsageOf(s.Path(commits[0]))
	if err != nil {
		return err
	}
	for len(commits) > least {
		used, err := disk.UsageOf(s.Volume)
		if err != nil {
			return err
		}
		if used.Bytes+reserved*current.Bytes <= s.Budget && used.Inodes+reserved*current.Inodes <= s.Budget/bytesPerInode {
			return nil
		}
		// Its assets, which are kept for pages that were loaded before, take as much.
		err = errors.Join(s.drop(commits[len(commits)-1]), s.remove(s.path(earlierDir)), s.dropLastAssets())
		if err != nil {
			return err
		}
		commits = commits[:len(commits)-1]
	}
	return nil
}

// Discard removes a release, unless it is the current one.
func (s *Store) Discard(commit string) error {
	if commit == "" || commit == s.Current() {
		return nil
	}
	return s.drop(commit)
}

// Retain removes all releases but some.
func (s *Store) Retain(kept []string) error {
	commits, err := s.List()
	errs := []error{err}
	for _, commit := range commits {
		if !slices.Contains(kept, commit) {
			errs = append(errs, s.drop(commit))
		}
	}
	return errors.Join(append(errs, s.remove(s.path(earlierDir)), s.dropLastAssets())...)
}

// drop removes a release and the assets next to it.
func (s *Store) drop(commit string) error {
	return errors.Join(s.remove(s.Path(commit)), s.remove(s.path(assetsDir, commit)))
}

// collectOrphans removes assets and descriptions without a release.
func (s *Store) collectOrphans() error {
	for _, dir := range []string{assetsDir, aboutDir} {
		entries, err := os.ReadDir(s.path(dir))
		if err != nil {
			return fmt.Errorf("listing what belongs to releases: %w", err)
		}
		for _, entry := range entries {
			if s.Has(strings.TrimSuffix(entry.Name(), aboutSuffix)) {
				continue
			}
			if err := s.remove(s.path(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
