package previews

import (
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// current returns the report of branches to go by: of those of the repository and the patterns that id
// identifies the one that has changed last, and of several the one of the first pod by name.
// Pods that are not ready do not count, and those that cannot list the branches only if none can: then it returns why.
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

// isLater reports whether a list has changed later than another one. No clock of a node counts
// that is ahead of this one.
func isLater(a, b *workload.Branches, now time.Time) bool {
	since := func(known *workload.Branches) time.Time {
		if known.Since.After(now) {
			return now
		}
		return known.Since
	}
	return since(a).After(since(b))
}
