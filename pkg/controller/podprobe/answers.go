package podprobe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// accesses maps the access problems of the agent to those in an Observation. Other problems are
// ignored.
var accesses = map[access.Problem]workload.Access{
	access.ProblemMissing:         workload.AccessSecretMissing,
	access.ProblemInvalid:         workload.AccessSecretInvalid,
	access.ProblemUnsupportedHash: workload.AccessUnsupportedHash,
}

// answer is the decoded response of a pod.
type answer struct {
	workload.Observation
	// sync is false when the agent has not responded: then only the commit is known.
	sync bool
	// revision identifies the state of the agent. It is empty if requests cannot wait.
	revision string
	// prepared is a commit that the pod holds back until its siblings have it.
	prepared string
	// nextSync is the time until the next fetch, and syncs whether there is one.
	nextSync time.Duration
	syncs    bool
}

// maxReplaced limits the commits with the same content in an answer.
const maxReplaced = 10

// maxRevision is long enough for the revisions of agents.
const maxRevision = 100

// parseStatus decodes the status of an agent. A compromised pod can respond with anything, so only
// commits and known words are used.
func parseStatus(body []byte) (answer, error) {
	var status agent.Status
	if err := json.Unmarshal(body, &status); err != nil {
		return answer{}, fmt.Errorf("the pod answers /status with something else than a status: %w", err)
	}
	if status.Commit != "" && !requests.IsCommit(status.Commit) {
		return answer{}, fmt.Errorf("the pod answers /status with %q, which is not a commit",
			status.Commit[:min(len(status.Commit), 100)])
	}
	a := answer{sync: true, Observation: workload.Observation{
		Reachable: true, Commit: status.Commit, PathNotFound: status.Commit != "" && !status.PathFound,
		Warnings: workload.KnownWarnings(status.Warnings),
		Access:   accesses[status.Access],
	}}
	if status.Failure != nil && status.Failure.Reason == git.ReasonPathNotFound {
		a.PathNotFound, status.Failure = true, nil
	}
	if len(status.Revision) <= maxRevision {
		a.revision = status.Revision
	}
	if requests.IsCommit(status.Prepared) {
		a.prepared = status.Prepared
	}
	if requests.IsCommit(status.Newest) {
		a.Newest = status.Newest
	}
	if status.Pin != nil && requests.IsPin(status.Pin.Commit) {
		a.Pin = status.Pin.Commit
	}
	if requests.IsSyncID(status.Synced) {
		a.Synced = status.Synced
	}
	a.Branches = branchesOf(status.Branches)
	replaced := slices.DeleteFunc(status.Replaced, func(commit string) bool { return !requests.IsCommit(commit) })
	a.Replaced = strings.Join(replaced[:min(len(replaced), maxReplaced)], " ")
	a.Subject, a.Author = release.Printable(status.Subject, release.MaxSubject),
		release.Printable(status.Author, release.MaxAuthor)
	if next := status.NextSyncMilliseconds; next != nil {
		a.syncs = true
		a.nextSync = time.Duration(max(0, min(*next, maxNextSync.Milliseconds()))) * time.Millisecond
	}
	if status.Failure == nil {
		a.FollowingUnknown = status.LastContact == nil
		return a, nil
	}
	a.Failure, a.FailedTwice = workload.KnownReason(status.Failure.Reason), status.Failure.Count >= 2
	return a, nil
}

// parseCommit decodes the response to /commit. Only a 503 of the pod itself means that it has no
// commit, not a 503 of another server, such as a proxy.
func parseCommit(code int, body []byte) (string, error) {
	text := strings.TrimSpace(string(body[:min(len(body), 100)]))
	switch {
	case code == http.StatusOK && requests.IsCommit(text):
		return text, nil
	case code == http.StatusServiceUnavailable && text == "no commit":
		return "", nil
	default:
		return "", fmt.Errorf("the pod answers /commit with status %d and neither a commit nor \"no commit\"", code)
	}
}
