package check

import (
	"cmp"
	"math"
	"slices"

	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// never is the revision of an event that does not happen.
const never = math.MaxInt64

// truth answers questions about etcd's own history.
type truth struct {
	changes []history.Change
	// byName are the changes of each object, in order.
	byName map[string][]history.Change
	names  []string
	// events are the expected events of a watch of a tier, computed on first use.
	events map[string][]history.Event
}

// newTruth indexes the changes of a history, which are in order, and adds the changes by restores.
func newTruth(h *history.History) *truth {
	t := &truth{byName: map[string][]history.Change{}, events: map[string][]history.Event{}}
	restores := h.Restores
	for _, c := range h.Changes {
		for len(restores) > 0 && restores[0].Revision < c.Revision {
			t.restore(restores[0])
			restores = restores[1:]
		}
		t.add(c)
	}
	for _, r := range restores {
		t.restore(r)
	}
	return t
}

func (t *truth) add(c history.Change) {
	name := c.Object.Name
	if i, ok := slices.BinarySearch(t.names, name); !ok {
		t.names = slices.Insert(t.names, i, name)
	}
	t.byName[name] = append(t.byName[name], c)
	t.changes = append(t.changes, c)
}

// restore adds a change of each object whose last state differs from the snapshot.
func (t *truth) restore(r history.Restore) {
	for _, name := range t.names {
		last := t.at(name, never)
		c := history.Change{Revision: r.Revision, Object: last.Object, Deleted: true, Observed: r.Closed, Restored: true}
		if earlier := t.at(name, r.Snapshot); earlier != nil && !earlier.Deleted {
			c.Object, c.Deleted = earlier.Object, false
		}
		if c.Deleted != last.Deleted || c.Object != last.Object {
			t.add(c)
		}
	}
}

// snapshot returns the objects of a tier at a revision, sorted by name.
func (t *truth) snapshot(revision int64, tier string) []history.Object {
	objects := []history.Object{}
	for _, name := range t.names {
		c := t.at(name, revision)
		if c != nil && !c.Deleted && selects(tier, c.Object) {
			objects = append(objects, c.Object)
		}
	}
	return objects
}

// at returns the last change of an object up to a revision, or nil.
func (t *truth) at(name string, revision int64) *history.Change {
	changes := t.byName[name]
	i, found := slices.BinarySearchFunc(changes, revision,
		func(c history.Change, r int64) int { return cmp.Compare(c.Revision, r) })
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return &changes[i]
}

// exactly returns the change of an object at exactly this revision, or nil.
func (t *truth) exactly(name string, revision int64) *history.Change {
	if c := t.at(name, revision); c != nil && c.Revision == revision {
		return c
	}
	return nil
}

// until returns the revision at which a state of an object ends, for the last time if that
// was restored.
func (t *truth) until(o history.Object) (end int64) {
	changes := t.byName[o.Name]
	for i, c := range changes {
		switch {
		case c.Deleted || c.Object != o:
		case i+1 < len(changes):
			end = changes[i+1].Revision
		default:
			end = never
		}
	}
	return end
}

// absentUntil returns the last revision at which the object does not exist.
func (t *truth) absentUntil(name string) int64 {
	changes := t.byName[name]
	for i := len(changes) - 1; i >= 0; i-- {
		if !changes[i].Deleted {
			continue
		}
		if i == len(changes)-1 {
			return never
		}
		return changes[i+1].Revision
	}
	if len(changes) == 0 {
		return never
	}
	return changes[0].Revision
}

// committed returns the highest revision that the test had received from etcd before a
// moment.
func (t *truth) committed(moment int64) int64 {
	// Changes are received in the order of their revisions.
	i, _ := slices.BinarySearchFunc(t.changes, moment,
		func(c history.Change, m int64) int { return cmp.Compare(c.Observed, m) })
	if i == 0 {
		return 0
	}
	return t.changes[i-1].Revision
}

// selects reports whether a selection by tier includes the object.
func selects(tier string, o history.Object) bool { return tier == "" || o.Tier == tier }

// expected returns the expected events of a watch of a tier: an object that enters the selection is
// added, and one that leaves it is deleted with its last selected state.
func (t *truth) expected(tier string) []history.Event {
	if events, ok := t.events[tier]; ok {
		return events
	}
	var events []history.Event
	last := map[string]history.Change{}
	for _, c := range t.changes {
		previous, existed := last[c.Object.Name]
		was := existed && !previous.Deleted && selects(tier, previous.Object)
		is := !c.Deleted && selects(tier, c.Object)
		last[c.Object.Name] = c
		if c.Restored {
			// Every client lists again.
			continue
		}
		event := history.Event{Object: c.Object}
		switch {
		case was && is:
			event.Type = history.Modified
		case is:
			event.Type = history.Added
		case was:
			event.Type, event.Object = history.Deleted, previous.Object
		default:
			continue
		}
		event.Object.Revision = c.Revision
		events = append(events, event)
	}
	t.events[tier] = events
	return events
}

// after returns the index of the first event after a revision.
func after(events []history.Event, revision int64) int {
	i, found := slices.BinarySearchFunc(events, revision,
		func(e history.Event, r int64) int { return cmp.Compare(e.Object.Revision, r) })
	if found {
		i++
	}
	return i
}
