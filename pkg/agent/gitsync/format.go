package gitsync

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"

	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

// formatVariable names the object format of the repositories that git makes. git-sync has no
// flag for that, so on its own it cannot fetch from a repository with SHA-256.
const formatVariable = "GIT_DEFAULT_HASH"

// lengthSHA256 is how many digits a commit of a repository with SHA-256 has.
const lengthSHA256 = 64

// formatOf returns the object format of a commit, or "" for any other reference. In a repository of another format git
// takes the commit for the name of a branch, and does not say that the formats differ.
func formatOf(ref string) string {
	switch {
	case !requests.IsCommit(ref):
		return ""
	case len(ref) == lengthSHA256:
		return "sha256"
	default:
		return "sha1"
	}
}

// mismatch is what git prints if the remote has another object format than its repository.
var mismatch = regexp.MustCompile(`mismatched algorithms: client (?:sha1|sha256); server (sha1|sha256)`)

// checkFormat restarts git-sync with the object format of the remote if a fetch has failed
// because of another one.
func (s *Supervisor) checkFormat(logger klog.Logger) {
	_, text, at, err := readErrorFile(s.ErrorFile)
	// An error is reported by the one who reads why git-sync fails.
	if err != nil || s.command == nil || !at.After(s.formatAt) {
		return
	}
	_, stderr := parts(text)
	found := mismatch.FindStringSubmatch(stderr)
	if found == nil {
		return
	}
	logger.Info("Restarting git-sync with the object format of the repository", "format", found[1])
	s.format, s.formatAt, s.reformat = found[1], at, true
	signalGroup(s.command.Process.Pid, syscall.SIGTERM)
}

// reformatRoot removes the repository that git-sync has made if it is to have another object
// format. Releases stay.
func (s *Supervisor) reformatRoot() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reformat {
		return nil
	}
	entries, err := os.ReadDir(s.Root)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.Root, entry.Name())))
	}
	if err != nil {
		return fmt.Errorf("removing a repository with another object format: %w", err)
	}
	s.reformat = false
	return nil
}
