package gitsync

import (
	"fmt"
	"os"
	"path/filepath"
)

// environmentOf returns the environment of a git-sync with empty directories for its home, next to its root, and for
// its temporary files. git-sync makes a configuration for git at each start, git-sync.gitconfig.*, and never removes
// it. A directory of its own can be emptied while another git-sync runs.
func (s *Supervisor) environmentOf(root string) ([]string, error) {
	home, temporary := root+"-home", s.temporaryOf(root)
	for _, dir := range []string{home, temporary} {
		if err := os.RemoveAll(dir); err != nil {
			return nil, fmt.Errorf("removing a directory of an earlier git-sync: %w", err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("creating a directory of git-sync: %w", err)
		}
	}
	return append(os.Environ(), "HOME="+home, "TMPDIR="+temporary), nil
}

// temporaryOf returns the directory for temporary files of the git-sync with a root. It is in the volume of the error
// file, where it is not part of the budget for releases.
func (s *Supervisor) temporaryOf(root string) string {
	return filepath.Join(filepath.Dir(s.ErrorFile), "git-sync-"+filepath.Base(root))
}
