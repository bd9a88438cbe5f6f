package podprobe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/access"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// accesses are those of the problems of the agent. Others are unknown.
var accesses = map[access.Problem]workload.Access{
	access.ProblemMissing:         workload.AccessSecretMissing,
	access.ProblemInvalid:         workload.AccessSecretInvalid,
	access.ProblemUnsupportedHash: workload.AccessUnsupportedHash,
}

// answer is what a pod has answered.
type answer struct {
	workload.Observation
	// sync is false when the agent has not answered: then only the commit is known.
	sync bool
	// revision names what the agent knows. It is empty if requests cannot wait.
	revision string
	// prepared is a commit that the pod holds back until others have it.
	prepared string
	// nextSync is how long it takes until the repository is contacted again, and syncs
	// whether it ever is.
	nextSync time.Duration
	syncs    bool
}

// maxReplaced is how many commits with the same content are taken from an answer.
const maxReplaced = 10

// maxSubject and maxAuthor are how many bytes of a subject and an author are reported.
const maxSubject, maxAuthor = 200, 100

// printable returns what can be shown of a text, of some bytes at most: it is of a
// repository, and control characters could change what a terminal shows.
func printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text[:min(len(text), 4*most)])
	for len(text) > most {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	// A part of a string keeps all of it in memory.
	return strings.Clone(strings.TrimSpace(text))
}

// maxRevision is enough for the revisions of agents.
const maxRevision = 100

// parseStatus reads what the agent knows. A pod can be made to answer anything, so nothing
// of it is used but commits, and words that are known here.
func parseStatus(body []byte) (answer, error) {
	var status agent.Status
	if err := json.Unmarshal(body, &status); err != nil {
		return answer{}, fmt.Errorf("the pod answers /status with something else than a status: %w", err)
	}
	if status.Commit != "" && !resources.IsCommit(status.Commit) {
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
	if resources.IsCommit(status.Prepared) {
		a.prepared = status.Prepared
	}
	if resources.IsCommit(status.Newest) {
		a.Newest = status.Newest
	}
	if status.Pin != nil && requests.IsPin(status.Pin.Commit) {
		a.Pin = status.Pin.Commit
	}
	if requests.IsSyncID(status.Synced) {
		a.Synced = status.Synced
	}
	a.Branches = branchesOf(status.Branches)
	replaced := slices.DeleteFunc(status.Replaced, func(commit string) bool { return !resources.IsCommit(commit) })
	a.Replaced = strings.Join(replaced[:min(len(replaced), maxReplaced)], " ")
	a.Subject, a.Author = printable(status.Subject, maxSubject), printable(status.Author, maxAuthor)
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

// parseCommit reads the answer to /commit. A 503 of another server, such as a
// proxy, is not the pod's way of saying that it has no commit.
func parseCommit(code int, body []byte) (string, error) {
	text := strings.TrimSpace(string(body[:min(len(body), 100)]))
	switch {
	case code == http.StatusOK && resources.IsCommit(text):
		return text, nil
	case code == http.StatusServiceUnavailable && text == "no commit":
		return "", nil
	default:
		return "", fmt.Errorf("the pod answers /commit with status %d and neither a commit nor \"no commit\"", code)
	}
}
