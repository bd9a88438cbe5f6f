// Package check verifies a recorded history against Kubernetes' guarantees to its clients, and
// against etcd's own history.
package check

import (
	"fmt"

	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// Names of the checks.
const (
	// AcknowledgedWrite: an acknowledged write is in etcd, once and unchanged.
	AcknowledgedWrite = "acknowledged-write"
	// UnexplainedChange: every change in etcd was caused by one operation.
	UnexplainedChange = "unexplained-change"
	// LostUpdate: an update changed the revision that its client had read.
	LostUpdate = "lost-update"
	// Linearizability: the operations on an object took effect one after the other, each
	// between its call and its return. Found by porcupine.
	Linearizability = "linearizability"
	// Truth: every read object was in etcd.
	Truth = "truth"
	// StaleRead: a read without a resource version is not older than its call; one with a
	// resource version is not older than that.
	StaleRead = "stale-read"
	// Monotonic: reads at resource version 0 of one client from one server do not go back.
	Monotonic = "monotonic"
	// ListSnapshot: a list is the state at its resource version.
	ListSnapshot = "list-snapshot"
	// ListPages: the pages of a list are of one revision, complete and in order.
	ListPages = "list-pages"
	// WatchInitial: the initial events make up the state at their last bookmark.
	WatchInitial = "watch-initial"
	// WatchOrder: events are in the order of their revisions.
	WatchOrder = "watch-order"
	// WatchDuplicate: no event is reported twice.
	WatchDuplicate = "watch-duplicate"
	// WatchGap: no event is left out.
	WatchGap = "watch-gap"
	// WatchResume: a watch starts with the first event after its resource version.
	WatchResume = "watch-resume"
	// WatchBookmark: everything up to a bookmark was reported before it.
	WatchBookmark = "watch-bookmark"
	// WatchFilter: a watch reports the selected objects only.
	WatchFilter = "watch-filter"
	// WatchPrevious: a deleted object is reported with its last state.
	WatchPrevious = "watch-previous"
	// WatchEvent: an event has the type and the state that etcd's history implies.
	WatchEvent = "watch-event"
	// WatchRestore: a watch does not continue past a restore, so that its client lists again.
	WatchRestore = "watch-restore"
	// RestoredState: a restored store has the state at the revision of its snapshot, and continues at
	// a later revision than before.
	RestoredState = "restored-state"
	// ClosedStore: a restored store is not served before it was accepted.
	ClosedStore = "closed-store"
)

// Violation is a violated guarantee.
type Violation struct {
	// Check is one of the names above.
	Check   string `json:"check"`
	Message string `json:"message"`
	// Name is the affected object, if any.
	Name string `json:"name,omitempty"`
}

func (v Violation) String() string { return v.Check + ": " + v.Message }

// Run makes all checks. The history must be sorted.
func Run(h *history.History) []Violation {
	t := newTruth(h)
	var violations []Violation
	violations = append(violations, checkWrites(h, t)...)
	violations = append(violations, checkGets(h, t)...)
	violations = append(violations, checkLists(h, t)...)
	violations = append(violations, checkWatches(h, t)...)
	violations = append(violations, checkRestores(h, t)...)
	return append(violations, checkLinearizable(h, t)...)
}

func violationf(check, name, format string, args ...any) Violation {
	return Violation{Check: check, Name: name, Message: fmt.Sprintf(format, args...)}
}
