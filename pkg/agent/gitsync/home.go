package gitsync

import (
	"fmt"
	"os"
)

// environmentOf returns the environment of a git-sync with an empty home directory next to its
// root. git-sync writes .gitconfig there with git, whose lock is held by another git-sync that
// starts at the same time, and stays for good if git is killed.
func environmentOf(root string) ([]string, error) {
	home := root + "-home"
	if err := os.RemoveAll(home); err != nil {
		return nil, fmt.Errorf("removing the home directory of an earlier git-sync: %w", err)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("creating the home directory of git-sync: %w", err)
	}
	return append(os.Environ(), "HOME="+home), nil
}
