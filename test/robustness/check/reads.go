package check

import (
	"strconv"

	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// oldest returns the lowest revision that a read may reflect.
func oldest(t *truth, o *history.Operation) int64 {
	if o.Request.ResourceVersion == "" {
		// Changes that the test had received from etcd before the call were committed.
		return t.committed(o.Call)
	}
	revision, err := strconv.ParseInt(o.Request.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return revision
}

// reader is one client at one server. Its reads from the cache must not go back.
type reader struct {
	client       int
	target, name string
	// restores is the number of restores before the read.
	restores int
}

// checkGets compares the results of gets with etcd's history.
func checkGets(h *history.History, t *truth) []Violation {
	var violations []Violation
	last := map[reader]int64{}
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Verb != history.Get {
			continue
		}
		want := oldest(t, o)
		switch {
		case o.Outcome == history.OK:
			c := t.exactly(o.Name, o.Object.Revision)
			if c == nil || c.Deleted || c.Object != *o.Object {
				violations = append(violations, violationf(Truth, o.Name, "%s returned %+v, which etcd never stored", o, *o.Object))
				continue
			}
			if end := t.until(c.Object); end <= want {
				violations = append(violations, violationf(StaleRead, o.Name,
					"%s returned revision %d, which was replaced at %d, before revision %d", o, c.Revision, end, want))
			}
			if o.Request.ResourceVersion == "0" {
				violations = append(violations, monotonic(h, last, o, o.Object.Revision)...)
			}
		case o.Reason == history.NotFound:
			if end := t.absentUntil(o.Name); end <= want {
				violations = append(violations, violationf(StaleRead, o.Name,
					"%s found nothing, but the object exists since %d, and the read must reflect %d", o, end, want))
			}
		}
	}
	return violations
}

// monotonic records the revision of a read at resource version 0, and compares it with the one
// before. Only direct reads count, as a load balancer may change the server. Restored objects keep
// their revisions.
func monotonic(h *history.History, last map[reader]int64, o *history.Operation, revision int64) []Violation {
	if o.Target == history.Balanced || spansRestore(h, o) {
		return nil
	}
	key := reader{client: o.Client, target: o.Target, name: o.Name, restores: restoresBefore(h, o.Call)}
	before := last[key]
	last[key] = max(before, revision)
	if revision < before {
		return []Violation{violationf(Monotonic, o.Name, "%s returned revision %d after the same client had read %d", o,
			revision, before)}
	}
	return nil
}

// checkLists compares lists with etcd's history at their revision.
func checkLists(h *history.History, t *truth) []Violation {
	var violations []Violation
	last := map[reader]int64{}
	// Pages are checked once their chain is complete.
	chains := map[int][]*history.Operation{}
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Verb != history.List || o.Outcome != history.OK {
			continue
		}
		if o.Request.Chain != 0 {
			chains[o.Request.Chain] = append(chains[o.Request.Chain], o)
			continue
		}
		chains[o.ID] = append([]*history.Operation{o}, chains[o.ID]...)
		want, revision := oldest(t, o), o.Page.Revision
		switch {
		case o.Request.Exact && revision != want:
			violations = append(violations, violationf(ListSnapshot, "", "%s returned revision %d, want exactly %d", o,
				revision, want))
		case revision < want:
			violations = append(violations, violationf(StaleRead, "", "%s returned revision %d, but must reflect %d", o,
				revision, want))
		}
		if o.Request.ResourceVersion == "0" {
			violations = append(violations, monotonic(h, last, o, revision)...)
		}
	}
	for _, pages := range chains {
		violations = append(violations, checkPages(pages, t)...)
	}
	return violations
}

// checkPages verifies a list, which is the concatenation of its pages. The last ones may be
// missing.
func checkPages(pages []*history.Operation, t *truth) []Violation {
	first := pages[0]
	want := t.snapshot(first.Page.Revision, first.Request.Tier)
	var got []history.Object
	for i, o := range pages {
		if o.Page.Revision != first.Page.Revision {
			return []Violation{violationf(ListPages, "", "%s is of revision %d, its first page of %d", o, o.Page.Revision,
				first.Page.Revision)}
		}
		got = append(got, o.Page.Items...)
		if o.Page.More && int64(len(o.Page.Items)) != o.Request.Limit {
			return []Violation{violationf(ListPages, "", "page %d of %s has %d objects, want %d, as there are more", i, o,
				len(o.Page.Items), o.Request.Limit)}
		}
		if o.Page.Remaining != nil && *o.Page.Remaining != int64(len(want)-len(got)) {
			return []Violation{violationf(ListPages, "", "page %d of %s says that %d objects remain, want %d", i, o,
				*o.Page.Remaining, len(want)-len(got))}
		}
	}
	check := ListSnapshot
	if len(pages) > 1 {
		check = ListPages
	}
	for i, o := range got {
		switch {
		case i >= len(want):
			return []Violation{violationf(check, o.Name, "%s contains %+v, which does not exist at revision %d", first, o,
				first.Page.Revision)}
		case o != want[i]:
			return []Violation{violationf(check, o.Name, "%s contains %+v as object %d, want %+v at revision %d", first, o, i,
				want[i], first.Page.Revision)}
		}
	}
	if end := pages[len(pages)-1]; !end.Page.More && len(got) != len(want) {
		return []Violation{violationf(check, want[len(got)].Name, "%s has %d objects, want %d at revision %d; %s is missing",
			first, len(got), len(want), first.Page.Revision, want[len(got)].Name)}
	}
	return nil
}
