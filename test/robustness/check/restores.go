package check

import (
	"slices"

	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// restoresBefore returns the number of accepted restores before a moment.
func restoresBefore(h *history.History, moment int64) (n int) {
	for _, r := range h.Restores {
		if r.Accepted <= moment {
			n++
		}
	}
	return n
}

// spansRestore reports whether an operation may have been executed before a restore or after it.
func spansRestore(h *history.History, o *history.Operation) bool {
	return slices.ContainsFunc(h.Restores,
		func(r history.Restore) bool { return o.Call < r.Accepted && o.Return > r.Stopped })
}

// nextRestore returns the revision of the first restore after a revision.
func nextRestore(h *history.History, revision int64) int64 {
	for _, r := range h.Restores {
		if r.Revision > revision {
			return r.Revision
		}
	}
	return never
}

// checkRestores compares restored stores with etcd's earlier history, and verifies that none was
// served before it was accepted.
func checkRestores(h *history.History, t *truth) []Violation {
	var violations []Violation
	for _, r := range h.Restores {
		for _, c := range h.Changes {
			if c.Observed < r.Stopped && c.Revision >= r.Revision {
				violations = append(violations, violationf(RestoredState, c.Object.Name,
					"%s was stored before the restore to revision %d, which continues from %d", describe(&c), r.Snapshot, r.Revision))
			}
		}
		if want := t.snapshot(r.Snapshot, ""); !slices.Equal(r.Objects, want) {
			violations = append(violations, violationf(RestoredState, "", "the store restored to revision %d has %+v, want %+v",
				r.Snapshot, r.Objects, want))
		}
		for i := range h.Operations {
			o := &h.Operations[i]
			switch {
			case o.Return >= r.Accepted:
			case o.Call > r.Closed && o.Outcome != history.Unknown:
				violations = append(violations, violationf(ClosedStore, o.Name,
					"%s was answered (%s %s) before the restored store was accepted", o, o.Outcome, o.Reason))
			case o.Page != nil && o.Page.Revision >= r.Revision:
				violations = append(violations, violationf(ClosedStore, o.Name,
					"%s returned revision %d of the restored store, which was not accepted", o, o.Page.Revision))
			}
		}
		for i := range h.Watches {
			w := &h.Watches[i]
			for _, e := range w.Events {
				if e.At < r.Accepted && e.Object.Revision >= r.Revision {
					violations = append(violations, violationf(ClosedStore, e.Object.Name,
						"%s reported revision %d of the restored store, which was not accepted", w, e.Object.Revision))
					break
				}
			}
		}
	}
	return violations
}
