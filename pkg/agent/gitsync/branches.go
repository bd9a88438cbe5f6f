package gitsync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Branches are branches of the repository.
type Branches struct {
	// List has them in the order of their names, at most maxBranches. More is true if there
	// are others behind them.
	List []Branch
	More bool
	// Head is the branch of the remote's HEAD, if that was asked for and is one.
	Head string
}

// Branch is a branch of the repository.
type Branch struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
}

// ListError is why the branches could not be listed.
type ListError struct {
	SyncError
	// Ended is how git has ended.
	Ended error
}

func (e *ListError) Error() string {
	return fmt.Sprintf("listing the branches: %s: %s (%v)", e.Reason, e.Text, e.Ended)
}

func (e *ListError) Unwrap() error { return e.Ended }

// Repository is the --repo of git-sync.
func (s *Supervisor) Repository() string { return s.argument("--repo") }

// argument returns the value of a flag of git-sync, the last of which counts, or "".
func (s *Supervisor) argument(name string) (value string) {
	for _, argument := range s.Command {
		if given, ok := strings.CutPrefix(argument, name+"="); ok {
			value = given
		}
	}
	return value
}

// ListBranches lists the branches of the repository for which match returns true, with the
// credentials and the time limit of git-sync.
func (s *Supervisor) ListBranches(ctx context.Context, match func(branch string) bool, head bool) (Branches, error) {
	arguments := []string{"ls-remote", "--symref"}
	patterns := []string(nil)
	if head {
		// Nothing less than all references has HEAD in it.
		patterns = []string{"HEAD", headPrefix + "*"}
	} else {
		arguments = append(arguments, "--heads")
	}
	command := exec.Command("git", append(append(arguments, "--", s.Repository()), patterns...)...)
	// In no repository: its configuration would count.
	command.Dir = os.TempDir()
	command.Env = append(os.Environ(), s.credentialVariables()...)
	found := &listedBranches{match: match}
	var stderr tail
	command.Stdout, command.Stderr = found, &stderr
	err := s.runBeside(ctx, command)
	switch {
	case ctx.Err() != nil:
		return Branches{}, ctx.Err()
	case err != nil:
		failed := SyncError{Reason: Classify(stderr.String()), Text: publicText(stderr.String()), At: s.Clock.Now()}
		if errors.Is(err, context.DeadlineExceeded) {
			failed.Reason = ReasonTimedOut
		}
		return Branches{}, &ListError{failed, err}
	case !found.any:
		// A server that has lost its repository must not look like one whose branches are gone.
		return Branches{}, &ListError{SyncError{Reason: ReasonRefNotFound, Text: "the repository has no branches", At: s.Clock.Now()}, nil}
	}
	return found.branches, nil
}

// credentialVariables is what git-sync sets for git by itself.
func (s *Supervisor) credentialVariables() []string {
	variables := []string{"GIT_TERMINAL_PROMPT=0"}
	if key := s.argument("--ssh-key-file"); key != "" {
		ssh := os.Getenv("GIT_SSH_COMMAND")
		if ssh == "" {
			ssh = "ssh"
		}
		ssh += " -o IdentitiesOnly=yes -i " + quoted(key)
		if hosts := s.argument("--ssh-known-hosts-file"); hosts != "" {
			ssh += " -o StrictHostKeyChecking=yes -o UserKnownHostsFile=" + quoted(hosts)
		}
		variables = append(variables, "GIT_SSH_COMMAND="+ssh)
	}
	repository, err := url.Parse(s.Repository())
	password := s.argument("--password-file")
	if err != nil || password == "" || s.UsernameFile == "" {
		return variables
	}
	// The setting is for this scheme and host: a redirect must not get them.
	count, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT"))
	helper := fmt.Sprintf(`!f() { test "$1" = get || return 0; IFS= read -r u <%s; IFS= read -r p <%s; printf 'username=%%s\npassword=%%s\n' "$u" "$p"; }; f`,
		quoted(s.UsernameFile), quoted(password))
	return append(variables,
		fmt.Sprintf("GIT_CONFIG_KEY_%d=credential.%s://%s.helper", count, repository.Scheme, repository.Host),
		fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", count, helper),
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", count+1))
}

// quoted is a word for the shell that git runs.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// tail keeps the end of what is written to it.
type tail struct{ bytes.Buffer }

// Write keeps enough for any error of git.
func (t *tail) Write(data []byte) (int, error) {
	const most = 16 << 10
	n, err := t.Buffer.Write(data)
	if extra := t.Len() - most; extra > 0 {
		t.Next(extra)
	}
	return n, err
}
