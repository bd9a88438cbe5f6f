package main

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// environment is that of git: this program's, with the credentials.
func (o *options) environment() ([]string, error) {
	environment := append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_SSH_COMMAND="+o.sshCommand())
	if o.username == "" {
		return environment, nil
	}
	credentials, err := o.credentials()
	return append(environment, credentials...), err
}

// sshCommand has ssh show the keys, and by default talk to hosts that it knows only. git
// hands it to a shell.
func (o *options) sshCommand() string {
	command := []string{cmp.Or(os.Getenv("GIT_SSH_COMMAND"), "ssh")}
	for _, file := range o.sshKeyFiles {
		command = append(command, "-i", file)
	}
	if o.sshKnownHosts {
		command = append(command, "-o", "StrictHostKeyChecking=yes", "-o", "UserKnownHostsFile="+o.sshKnownHostsFile)
	} else {
		command = append(command, "-o", "StrictHostKeyChecking=no")
	}
	return strings.Join(command, " ")
}

// helper answers git with the user and the password as git's cache does, to which git-sync
// hands them: for every path of the host unless git names the path (credential.useHttpPath).
const helper = `!f() { while read -r line; do case "$line" in path="$GITSYNC_PATH") ;; path=*) return ;; esac; done
printf 'username=%s\npassword=%s\n' "$GITSYNC_USERNAME" "$GITSYNC_PASSWORD"; }; f`

// credentials configure git's user and password, for the repository's host only. The file is
// read for each sync, as by git-sync since v4.6, so that a changed Secret needs no restart. No
// other user can read the environment.
func (o *options) credentials() ([]string, error) {
	password, err := os.ReadFile(o.passwordFile)
	if err != nil {
		return nil, fmt.Errorf("reading --password-file: %w", err)
	}
	repo, err := url.Parse(o.repo)
	if err != nil {
		return nil, fmt.Errorf("--username and --password-file need an http or https --repo: %w", err)
	}
	// After the settings that the environment has already.
	count, err := strconv.Atoi(cmp.Or(os.Getenv("GIT_CONFIG_COUNT"), "0"))
	if err != nil {
		return nil, fmt.Errorf("reading GIT_CONFIG_COUNT: %w", err)
	}
	host := url.URL{Scheme: repo.Scheme, Host: repo.Host}
	return []string{
		"GITSYNC_USERNAME=" + o.username, "GITSYNC_PASSWORD=" + strings.TrimRight(string(password), "\r\n"),
		"GITSYNC_PATH=" + strings.Trim(repo.Path, "/"),
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", count+1),
		fmt.Sprintf("GIT_CONFIG_KEY_%d=credential.%s.helper", count, host.String()),
		fmt.Sprintf("GIT_CONFIG_VALUE_%d=", count) + helper,
	}, nil
}
