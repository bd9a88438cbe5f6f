package previews

import (
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// current returns the list of branches to use: of the lists for the repository and patterns that id
// identifies, the most recently changed one, and of several such lists the one of the first pod by
// name. Pods that are not ready are ignored. The reason of a failed listing is returned only if no
// pod can list the branches.
func current(pods []status.Pod, id string, now time.Time) (*workload.Branches, git.Reason) {
	var latest *workload.Branches
	var name string
	var failure git.Reason
	for _, pod := range pods {
		known := pod.Branches
		switch {
		case !pod.Ready || !pod.Observed || !pod.Reachable || pod.SyncUnreachable || known == nil || known.ID != id:
			continue
		case known.Failure != "":
			failure = known.Failure
			continue
		}
		if latest == nil || isLater(known, latest, now) || !isLater(latest, known, now) && pod.Name < name {
			latest, name = known, pod.Name
		}
	}
	if latest != nil {
		return latest, ""
	}
	return nil, failure
}

// isLater reports whether a list has changed later than another one. Timestamps in the future are
// ignored: the clock of the node is ahead.
func isLater(a, b *workload.Branches, now time.Time) bool {
	since := func(known *workload.Branches) time.Time {
		if known.Since.After(now) {
			return now
		}
		return known.Since
	}
	return since(a).After(since(b))
}
