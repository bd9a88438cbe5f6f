package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
)

// signals are those that --sync-on-signal takes.
var signals = map[string]syscall.Signal{"SIGHUP": syscall.SIGHUP, "SIGUSR1": syscall.SIGUSR1, "SIGUSR2": syscall.SIGUSR2}

// complete checks the flags and fills in the rest.
func (o *options) complete() error {
	switch {
	case o.repo == "":
		return errors.New("--repo is missing: name the git repository to publish")
	case o.root == "":
		return errors.New("--root is missing: name the directory to work in")
	case strings.HasPrefix(o.repo, "-"), strings.HasPrefix(o.ref, "-"), o.ref == "":
		return errors.New("--repo and --ref must not be empty or begin with a hyphen, which git would read as an option")
	case o.submodules != "recursive" && o.submodules != "shallow" && o.submodules != "off":
		return fmt.Errorf("--submodules=%s is unknown: use recursive, shallow or off", o.submodules)
	case (o.username == "") != (o.passwordFile == ""):
		return errors.New("--username and --password-file need each other")
	case o.depth < 0:
		return fmt.Errorf("--depth=%d is negative: use 0 for everything", o.depth)
	case o.period <= 0, o.syncTimeout <= 0, o.staleTimeout < 0, o.initPeriod < 0:
		return errors.New("--period and --sync-timeout must be positive, --init-period and --stale-worktree-timeout not negative")
	case o.syncOnSignal != "" && signals[o.syncOnSignal] == 0:
		return fmt.Errorf("--sync-on-signal=%s is unknown: use SIGHUP, SIGUSR1 or SIGUSR2", o.syncOnSignal)
	}
	o.syncSignal = signals[o.syncOnSignal]
	if o.initPeriod == 0 {
		o.initPeriod = o.period
	}
	if len(o.sshKeyFiles) == 0 {
		o.sshKeyFiles = []string{"/etc/git-secret/ssh"}
	}
	if o.link == "" {
		o.link = strings.TrimSuffix(filepath.Base(o.repo), ".git")
	}
	if strings.Contains(o.link, "/") || o.link == "" || o.link == "." || o.link == ".." {
		return fmt.Errorf("--link=%s must be a name in --root", o.link)
	}
	root, err := filepath.Abs(o.root)
	if err != nil {
		return fmt.Errorf("resolving --root: %w", err)
	}
	o.root = root
	if o.errorFile != "" && !filepath.IsAbs(o.errorFile) {
		o.errorFile = filepath.Join(root, o.errorFile)
	}
	return nil
}
