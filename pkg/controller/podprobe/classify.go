package podprobe

import (
	"strings"

	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// phrases are what git and ssh print, in lower case. Git runs without a locale,
// so they are not translated. The first that matches a line decides: what is
// more specific comes first, because git adds general remarks to it.
var phrases = []struct {
	failure workload.Failure
	text    []string
}{
	{workload.FailureStorage, []string{"no space left on device", "disk quota exceeded"}},
	{workload.FailureRefNotFound, []string{
		"couldn't find remote ref", "could not find remote ref", "not our ref",
		"unadvertised object", "server does not allow request for",
		"bad revision", "unknown revision", "reference is not a tree", "needed a single revision",
	}},
	{workload.FailureAuthentication, []string{
		"authentication failed", "could not read username", "could not read password", "terminal prompts disabled",
		"permission denied (", "host key verification failed", "invalid username or password", "invalid credentials",
		"requested url returned error: 401", "requested url returned error: 403", "access denied", "load key",
	}},
	{workload.FailureNotFound, []string{
		"repository not found", "requested url returned error: 404",
		"does not appear to be a git repository", "' not found", "project you were looking for could not be found",
	}},
	{workload.FailureUnreachable, []string{
		"could not resolve host", "name or service not known", "temporary failure in name resolution",
		"connection refused", "connection timed out", "connection reset", "operation timed out", "timed out",
		"failed to connect", "couldn't connect", "network is unreachable", "no route to host",
		"certificate", "ssl", "gnutls", "requested url returned error: 5", "hung up unexpectedly",
		"context deadline exceeded", "takes longer than", "unable to access", "early eof",
	}},
}

// classify returns what the end of a log of git-sync says about the last
// failure.
func classify(log string) workload.Failure {
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
	return workload.FailureUnknown
}
