package gitsync

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"k8s.io/klog/v2"
)

// readUsername returns the user name for git-sync, or "" if it has none.
func (s *Supervisor) readUsername() (string, error) {
	if s.UsernameFile == "" {
		return "", nil
	}
	data, err := os.ReadFile(s.UsernameFile)
	if err != nil {
		return "", fmt.Errorf("reading the user name: %w", err)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// usernameVariable passes the user name to git-sync, which logs its flags: with some hosts the name is a token.
const usernameVariable = "GITSYNC_USERNAME"

func (s *Supervisor) usernameVariables(username string) []string {
	if s.UsernameFile == "" {
		return nil
	}
	return []string{usernameVariable + "=" + username}
}

// checkUsername restarts git-sync when its user name has changed: it reads that at its start, and rereads only the
// password.
func (s *Supervisor) checkUsername(logger klog.Logger) {
	if s.command == nil {
		return
	}
	username, err := s.readUsername()
	if err != nil {
		logger.Error(err, "Failed to check whether the user name has changed")
		return
	}
	if username == s.username {
		return
	}
	logger.Info("Restarting git-sync, whose user name has changed")
	s.username = username
	s.resume(s.Clock.Now())
	signalGroup(s.command.Process.Pid, syscall.SIGTERM)
}
