package observer

import "strings"

// Failure is why a repository could not be fetched.
type Failure string

const (
	// FailureNone means that fetching works.
	FailureNone Failure = ""
	// FailureUnknown means that fetching fails and the log does not say why in
	// words that are known here.
	FailureUnknown Failure = "Unknown"
	// FailureUnreachable means that the host of the repository does not answer.
	FailureUnreachable Failure = "Unreachable"
	// FailureNotFound means that the host answers and has no such repository.
	FailureNotFound Failure = "NotFound"
	// FailureAuthentication means that the credentials are missing or refused.
	FailureAuthentication Failure = "Authentication"
	// FailureRefNotFound means that the repository lacks the branch, tag or
	// commit, or is empty.
	FailureRefNotFound Failure = "RefNotFound"
	// FailureStorage means that the volume of the pod is full.
	FailureStorage Failure = "Storage"
)

// phrases are what git and ssh print, in lower case. Git runs without a locale,
// so they are not translated. The first that matches a line decides: what is
// more specific comes first, because git adds general remarks to it.
var phrases = []struct {
	failure Failure
	text    []string
}{
	{FailureStorage, []string{"no space left on device", "disk quota exceeded"}},
	{FailureRefNotFound, []string{
		"couldn't find remote ref", "could not find remote ref", "not our ref",
		"unadvertised object", "server does not allow request for",
		"bad revision", "unknown revision", "reference is not a tree", "needed a single revision",
	}},
	{FailureAuthentication, []string{
		"authentication failed", "could not read username", "could not read password", "terminal prompts disabled",
		"permission denied (", "host key verification failed", "invalid username or password", "invalid credentials",
		"requested url returned error: 401", "requested url returned error: 403", "access denied", "load key",
	}},
	{FailureNotFound, []string{
		"repository not found", "requested url returned error: 404",
		"does not appear to be a git repository", "' not found", "project you were looking for could not be found",
	}},
	{FailureUnreachable, []string{
		"could not resolve host", "name or service not known", "temporary failure in name resolution",
		"connection refused", "connection timed out", "connection reset", "operation timed out", "timed out",
		"failed to connect", "couldn't connect", "network is unreachable", "no route to host",
		"certificate", "ssl", "gnutls", "requested url returned error: 5", "hung up unexpectedly",
		"context deadline exceeded", "takes longer than", "unable to access", "early eof",
	}},
}

// classify returns what the end of a log of git-sync says about the last
// failure.
func classify(log string) Failure {
	lines := strings.Split(strings.ToLower(log), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		for _, known := range phrases {
			for _, phrase := range known.text {
				if strings.Contains(lines[i], phrase) {
					return known.failure
				}
			}
		}
	}
	return FailureUnknown
}
