package check

import (
	"fmt"

	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// effects relates the writes of a history to etcd's history.
type effects struct {
	// change is the change that a write made, by the ID of the operation.
	change map[int]*history.Change
	// cause is the operation that made a change, by its revision.
	cause map[int64]*history.Operation
}

// resolve finds the change of every write, also with an unknown outcome: a value is unique to its
// write. A deletion has no value. It is attributed to the acknowledged operation, or else to the
// first one that may have caused it.
func resolve(h *history.History, t *truth) effects {
	e := effects{change: map[int]*history.Change{}, cause: map[int64]*history.Operation{}}
	byValue := map[string]*history.Change{}
	deletions := map[string][]*history.Change{}
	for i := range t.changes {
		c := &t.changes[i]
		if c.Restored {
			continue
		}
		if c.Deleted {
			deletions[c.Object.Name] = append(deletions[c.Object.Name], c)
			continue
		}
		byValue[c.Object.Value] = c
	}
	attribute := func(o *history.Operation, c *history.Change) {
		if e.cause[c.Revision] == nil {
			e.change[o.ID], e.cause[c.Revision] = c, o
		}
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		switch {
		case o.Outcome == history.Refused || !o.Verb.Writes():
		case o.Verb != history.Delete:
			if c := byValue[o.Request.Value]; c != nil && c.Object.Name == o.Name {
				attribute(o, c)
			}
		case o.Outcome == history.OK && o.Object != nil:
			for _, c := range deletions[o.Name] {
				// A restored object can be deleted again.
				if c.Object.UID == o.Object.UID && e.cause[c.Revision] == nil && o.Call < c.Observed {
					attribute(o, c)
					break
				}
			}
		}
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Verb != history.Delete || o.Outcome != history.Unknown {
			continue
		}
		for _, c := range deletions[o.Name] {
			if e.cause[c.Revision] == nil && o.Call < c.Observed {
				attribute(o, c)
				break
			}
		}
	}
	return e
}

// checkWrites compares the responses to writes with etcd's history.
func checkWrites(h *history.History, t *truth) []Violation {
	var violations []Violation
	e := resolve(h, t)
	for i := range h.Operations {
		o := &h.Operations[i]
		if !o.Verb.Writes() {
			continue
		}
		c := e.change[o.ID]
		if o.Outcome == history.OK {
			switch {
			case c == nil:
				violations = append(
					violations, violationf(AcknowledgedWrite, o.Name, "%s was acknowledged, but etcd never stored it", o),
				)
				continue
			case o.Verb != history.Delete && *o.Object != c.Object:
				violations = append(
					violations, violationf(AcknowledgedWrite, o.Name, "%s was answered with %+v, but etcd stored %+v", o,
						*o.Object, c.Object),
				)
			}
		}
		if c == nil {
			continue
		}
		if c.Observed < o.Call {
			violations = append(violations, violationf(UnexplainedChange, o.Name,
				"revision %d was stored before %s, which made it, was called", c.Revision, o))
		}
		previous := t.at(o.Name, c.Revision-1)
		if want := o.Request.Precondition; want != 0 &&
			(previous == nil || previous.Deleted || previous.Object.Revision != want) {
			violations = append(violations, violationf(LostUpdate, o.Name, "%s required revision %d, but replaced %s", o, want,
				describe(previous)))
		}
	}
	values := map[string]int64{}
	for _, c := range h.Changes {
		if e.cause[c.Revision] == nil {
			violations = append(
				violations, violationf(UnexplainedChange, c.Object.Name, "no operation accounts for %s", describe(&c)),
			)
		}
		if c.Deleted {
			continue
		}
		if first, twice := values[c.Object.Value]; twice {
			violations = append(violations, violationf(UnexplainedChange, c.Object.Name,
				"one write was stored twice, at revisions %d and %d", first, c.Revision))
		}
		values[c.Object.Value] = c.Revision
	}
	return violations
}

func describe(c *history.Change) string {
	switch {
	case c == nil:
		return "nothing"
	case c.Deleted:
		return fmt.Sprintf("the deletion of %s at revision %d", c.Object.Name, c.Revision)
	default:
		return fmt.Sprintf("%s at revision %d with value %s", c.Object.Name, c.Revision, c.Object.Value)
	}
}
