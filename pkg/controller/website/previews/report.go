package previews

import (
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// Report is what the pod of a Website has reported of branches.
type Report struct {
	// Pod is its name.
	Pod      string
	Branches *workload.Branches
}

// Current returns the report to go by: of those of the repository and the patterns that id
// identifies the one that has changed last, and of several the one of the first pod by name.
// Pods that cannot list the branches do not count, unless none can: then it returns why.
func Current(reports []Report, id string, now time.Time) (*workload.Branches, git.Reason) {
	var current *workload.Branches
	var pod string
	var failure git.Reason
	for _, report := range reports {
		known := report.Branches
		switch {
		case known == nil || known.ID != id:
			continue
		case known.Failure != "":
			failure = known.Failure
			continue
		}
		if current == nil || isLater(known, current, now) || !isLater(current, known, now) && report.Pod < pod {
			current, pod = known, report.Pod
		}
	}
	if current != nil {
		return current, ""
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
