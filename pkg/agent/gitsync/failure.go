package gitsync

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Reason says why syncing fails. Reasons are stable: the controller reads them.
type Reason string

// The reasons.
const (
	ReasonNone Reason = ""
	// ReasonStorageFull is a full disk.
	ReasonStorageFull Reason = "StorageFull"
	// ReasonRefNotFound is a branch, tag or commit that the repository lacks.
	ReasonRefNotFound Reason = "RefNotFound"
	// ReasonCommitRefused is a server that does not send this commit by its hash.
	ReasonCommitRefused Reason = "CommitRefused"
	// ReasonHostKey is an ssh server without the key that the Secret has for it.
	ReasonHostKey Reason = "HostKeyMismatch"
	// ReasonAuthentication is a server that refuses the credentials, or their lack.
	ReasonAuthentication Reason = "AuthenticationFailed"
	// ReasonSubmodule is a submodule that cannot be fetched.
	ReasonSubmodule Reason = "SubmoduleFailed"
	// ReasonObjectFormat is a repository with another object format.
	ReasonObjectFormat Reason = "ObjectFormatMismatch"
	// ReasonNotFound is a repository that does not exist.
	ReasonNotFound Reason = "RepositoryNotFound"
	// ReasonTimedOut is a server that is too slow, or says nothing.
	ReasonTimedOut Reason = "TimedOut"
	// ReasonUnreachable is a server that cannot be reached.
	ReasonUnreachable Reason = "RepositoryUnreachable"
	// ReasonMemory is a process that has no more memory, or was killed, mostly for its use of it.
	ReasonMemory Reason = "Killed"
	// ReasonPathNotFound is a commit without the published path, which the agent finds.
	ReasonPathNotFound Reason = "PathNotFound"
	// ReasonUnknown is anything else.
	ReasonUnknown Reason = "SyncFailing"
)

// phrasesOf are what git and ssh print about a reason, in lower case. Git runs without a locale, so they are
// not translated.
type phrasesOf struct {
	reason Reason
	text   []string
}

// localPhrases are about this pod. A server that has no space or memory says the same about itself.
var localPhrases = []phrasesOf{
	{ReasonStorageFull, []string{"no space left on device", "disk quota exceeded"}},
	{ReasonMemory, []string{"out of memory", "cannot allocate memory"}},
}

// phrases are about anything else. The first reason with a phrase decides: what is more specific comes first,
// because git adds general remarks to it.
var phrases = []phrasesOf{
	{ReasonObjectFormat, []string{"mismatched algorithms", "mismatched object format", "unsupported object format", "unknown object format"}},
	{ReasonHostKey, []string{"host key verification failed", "remote host identification has changed"}},
	{ReasonSubmodule, []string{"no url found for submodule", "no submodule mapping found", "unable to checkout", "submodule path", "fetched in submodule", "failed to clone '"}},
	{ReasonCommitRefused, []string{"not our ref", "unadvertised object", "server does not allow request for"}},
	{ReasonRefNotFound, []string{
		"couldn't find remote ref", "could not find remote ref",
		"bad revision", "unknown revision", "reference is not a tree", "needed a single revision",
	}},
	{ReasonAuthentication, []string{
		"authentication failed", "could not read username", "could not read password", "terminal prompts disabled",
		"permission denied (", "invalid username or password", "invalid credentials",
		"requested url returned error: 401", "requested url returned error: 403", "access denied", "load key",
	}},
	{ReasonNotFound, []string{
		"repository not found", "requested url returned error: 404",
		"does not appear to be a git repository", "' not found", "project you were looking for could not be found",
	}},
	{ReasonUnreachable, []string{"failed to connect", "couldn't connect", "connection timed out", "connect to host"}},
	{ReasonTimedOut, []string{"operation too slow", "timed out", "timeout, server"}},
	{ReasonUnreachable, []string{
		"could not resolve host", "name or service not known", "temporary failure in name resolution",
		"connection refused", "connection reset", "network is unreachable",
		"no route to host", "certificate", "ssl", "gnutls", "requested url returned error: 5", "hung up unexpectedly",
		"unable to access", "early eof", "connection closed",
	}},
}

// printed finds what a command printed in the error of git-sync:
//
//	Run(git fetch URL ...): exit status 128: { stdout: "", stderr: "fatal: ..." }
var printed = regexp.MustCompile(`(?s)^Run\(.*?\): (.*?): \{ stdout: (?:"(?:[^"\\]|\\.)*"), stderr: ("(?:[^"\\]|\\.)*") \}$`)

// Classify returns the reason of an error of git-sync. It reads what git printed to standard
// error, and not the command line, in which the user can write anything.
func Classify(text string) Reason {
	how, stderr := parts(text)
	// What the user may have written is between quotes.
	reason := classifyOutput(strings.ToLower(urls.ReplaceAllString(stderr, "URL")))
	isOverdue := strings.Contains(how, "deadline exceeded")
	switch {
	case isOverdue && (reason == ReasonUnknown || reason == ReasonUnreachable):
		// A git that is ended within a transfer prints that the remote has hung up.
		return ReasonTimedOut
	case reason == ReasonUnknown && strings.Contains(how, "signal: killed"):
		return ReasonMemory
	}
	return reason
}

func classifyOutput(stderr string) Reason {
	if reason := firstWith(localPhrases, remoteLines.ReplaceAllString(stderr, "")); reason != ReasonUnknown {
		return reason
	}
	return firstWith(phrases, stderr)
}

// firstWith returns the first reason with a phrase that was printed.
func firstWith(phrases []phrasesOf, printed string) Reason {
	for _, known := range phrases {
		for _, phrase := range known.text {
			if strings.Contains(printed, phrase) {
				return known.reason
			}
		}
	}
	return ReasonUnknown
}

// parts returns how a command failed and what it printed, according to an error of git-sync,
// or only the text of another error.
func parts(text string) (how, stderr string) {
	found := printed.FindStringSubmatch(text)
	if found == nil {
		return "", text
	}
	if unquoted, err := strconv.Unquote(found[2]); err == nil {
		return found[1], unquoted
	}
	return found[1], text
}

// remoteLines are what the server has said.
var remoteLines = regexp.MustCompile(`(?m)^remote: .*$`)

// urls are the addresses in messages of git.
var urls = regexp.MustCompile(`[a-z+]+://[^\s'"]+`)

// maxErrorFile is enough for any error.
const maxErrorFile = 256 << 10

// ErrRemark says that git-sync has written another error than that of the last sync, which is
// not known any more.
var ErrRemark = errors.New("git-sync has written what it found before a sync")

// remarks are the messages of what git-sync finds before a sync, which then continues. It writes
// them to the error file as well.
var remarks = map[string]bool{
	"repo contains lock file": true, "repo fsck failed": true, "repo directory is under another repo": true,
	"can't list repo directory": true, "can't get repo toplevel": true, "error calling stat on file": true,
	"can't list worktree directory": true, "can't get worktree HEAD": true, "worktree fsck failed": true,
	"failed to stat path, skipping": true, "predicate function failed for path, skipping": true,
	"git cleanup failed": true, "can't change stale worktree mtime": true,
}

// SyncError is why the last sync failed.
type SyncError struct {
	Reason Reason
	// Text is what git printed, without addresses.
	Text string
	At   time.Time
}

// ReadErrorFile returns why the last sync failed, with ReasonNone if it did not.
func ReadErrorFile(path string) (SyncError, error) {
	message, text, at, err := readErrorFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return SyncError{}, nil
	case err != nil:
		return SyncError{Reason: ReasonUnknown, At: at}, fmt.Errorf("reading the error of git-sync: %w", err)
	case remarks[message]:
		return SyncError{Reason: ReasonUnknown, At: at}, ErrRemark
	}
	return SyncError{Reason: Classify(text), Text: publicText(text), At: at}, nil
}

// maxText limits the text of an error that is shown.
const maxText = 500

// addresses are those of repositories, which can contain credentials, or lead to what is not
// public.
var addresses = regexp.MustCompile(`(?i)[a-z+.-]+://[^\s'"]+|[^\s'"]+@[^\s'"]+`)

// hosts are names of hosts where git and ssh print one alone, and addresses of IP.
var hosts = regexp.MustCompile(`(?i)((?:could not resolve (?:host|hostname|proxy):?|failed to connect to|connect to host|known for|target host name) '?)[^\s':]+|` +
	`(closed by |reset by )\S+( port)|\b\d{1,3}(?:\.\d{1,3}){3}\b|\[?[0-9a-f]*(?::[0-9a-f]*){2,7}\]?`)

// publicText returns the end of what git printed, without addresses and control characters.
func publicText(text string) string {
	_, stderr := parts(text)
	stderr = addresses.ReplaceAllString(strings.ToValidUTF8(stderr, "?"), "ADDRESS")
	stderr = hosts.ReplaceAllString(stderr, "${1}${2}ADDRESS${3}")
	stderr = strings.Join(strings.FieldsFunc(stderr, unicode.IsControl), "; ")
	if len(stderr) > maxText {
		stderr = strings.ToValidUTF8(stderr[len(stderr)-maxText:], "")
	}
	return stderr
}

// readErrorFile returns the last error, the message with it, and when it was.
func readErrorFile(path string) (message, text string, at time.Time, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", "", time.Time{}, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return "", "", time.Time{}, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxErrorFile))
	if err != nil {
		return "", "", info.ModTime(), err
	}
	var content struct{ Msg, Err string }
	if err := json.Unmarshal(data, &content); err != nil {
		// Errors of flags are text.
		content.Err = string(data)
	}
	return content.Msg, content.Err, info.ModTime(), nil
}
