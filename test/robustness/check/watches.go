package check

import "github.com/kubesites/website-apiserver/test/robustness/history"

// checkWatches compares the events of watches with etcd's history.
func checkWatches(h *history.History, t *truth) []Violation {
	var violations []Violation
	for i := range h.Watches {
		w := &h.Watches[i]
		events, from, v := w.Events, w.From, []Violation(nil)
		if w.Initial {
			events, from, v = checkInitial(w, t)
		}
		if len(v) == 0 {
			v = checkStream(h, w, t, events, from)
		}
		violations = append(violations, v...)
	}
	return violations
}

// checkInitial verifies the initial events, and returns the later ones with the revision of their
// start. Without the bookmark that ends the initial events, nothing can be checked.
func checkInitial(w *history.Watch, t *truth) (rest []history.Event, from int64, violations []Violation) {
	state := map[string]history.Object{}
	for i, event := range w.Events {
		o := event.Object
		switch {
		case event.Type == history.Deleted:
			delete(state, o.Name)
		case event.Type != history.Bookmark:
			if c := t.exactly(o.Name, o.Revision); c == nil || c.Object != o {
				return nil, 0, []Violation{violationf(WatchInitial, o.Name, "%s reported %+v, which etcd never stored", w, o)}
			}
			state[o.Name] = o
		case event.EndOfInitial:
			if oldest := t.committed(w.Call); o.Revision < oldest {
				return nil, 0, []Violation{violationf(WatchInitial, "", "%s started at revision %d, but must reflect %d", w,
					o.Revision, oldest)}
			}
			want := t.snapshot(o.Revision, w.Tier)
			for _, object := range want {
				if state[object.Name] != object {
					return nil, 0, []Violation{violationf(WatchInitial, object.Name,
						"%s reported %+v before its bookmark at %d, want %+v", w, state[object.Name], o.Revision, object)}
				}
			}
			if len(state) != len(want) {
				return nil, 0, []Violation{violationf(WatchInitial, "", "%s reported %d objects before its bookmark at %d, want %d",
					w, len(state), o.Revision, len(want))}
			}
			return w.Events[i+1:], o.Revision, nil
		}
	}
	return nil, 0, nil
}

// checkStream verifies the events after a revision, up to the first violation: later ones are often
// its consequence.
func checkStream(h *history.History, w *history.Watch, t *truth, events []history.Event, from int64) []Violation {
	restore := nextRestore(h, from)
	expected := t.expected(w.Tier)
	start := after(expected, from)
	next, last := start, from
	violated := func(check string, o history.Object, format string, args ...any) []Violation {
		return []Violation{violationf(check, o.Name, "%s: "+format, append([]any{w}, args...)...)}
	}
	// skipped names the check for a missing expected event.
	skipped := func() string {
		if next == start {
			return WatchResume
		}
		return WatchGap
	}
	for i, event := range events {
		o := event.Object
		var want history.Event
		if next < len(expected) {
			want = expected[next]
		}
		missing := next < len(expected) && want.Object.Revision <= o.Revision
		switch {
		case o.Revision >= restore:
			return violated(WatchRestore, o, "%s at %d follows revision %d, and the store was restored at %d", event.Type,
				o.Revision, last, restore)
		case event.Type == history.Bookmark && o.Revision < last:
			return violated(WatchOrder, o, "the bookmark at %d follows revision %d", o.Revision, last)
		case event.Type == history.Bookmark && missing:
			check := skipped()
			if reports(events[i+1:], want.Object.Revision) {
				check = WatchBookmark
			}
			return violated(check, want.Object, "the bookmark at %d precedes %s of %s at %d", o.Revision, want.Type,
				want.Object.Name, want.Object.Revision)
		case event.Type == history.Bookmark:
		case o.Revision <= last && reports(events[:i], o.Revision):
			return violated(WatchDuplicate, o, "%s of %s at %d was reported twice", event.Type, o.Name, o.Revision)
		case o.Revision <= last:
			return violated(WatchOrder, o, "%s of %s at %d follows revision %d", event.Type, o.Name, o.Revision, last)
		case missing && want.Object.Revision < o.Revision:
			check := skipped()
			if reports(events[i+1:], want.Object.Revision) {
				check = WatchOrder
			}
			return violated(check, want.Object, "%s of %s at %d was not reported; %s of %s at %d was", want.Type,
				want.Object.Name, want.Object.Revision, event.Type, o.Name, o.Revision)
		case !missing && t.exactly(o.Name, o.Revision) != nil:
			return violated(WatchFilter, o, "%s of %s at %d is not selected", event.Type, o.Name, o.Revision)
		case !missing:
			return violated(WatchEvent, o, "etcd has no revision %d of %s", o.Revision, o.Name)
		case event.Type != want.Type:
			return violated(WatchEvent, o, "%s of %s at %d, want %s", event.Type, o.Name, o.Revision, want.Type)
		case event.Type == history.Deleted && o != want.Object:
			return violated(WatchPrevious, o, "%+v was reported as deleted, want the last state %+v", o, want.Object)
		case o != want.Object:
			return violated(WatchEvent, o, "%s with %+v, want %+v", event.Type, o, want.Object)
		default:
			next++
		}
		last = max(last, o.Revision)
	}
	return nil
}

// reports returns whether the events include one with this revision, other than a bookmark.
func reports(events []history.Event, revision int64) bool {
	for _, e := range events {
		if e.Type != history.Bookmark && e.Object.Revision == revision {
			return true
		}
	}
	return false
}
