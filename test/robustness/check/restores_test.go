package check

import (
	"testing"

	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// restored returns a valid history in which the store returns to revision 40 and continues from
// 1000: the creation of the second Website b and the last update of a are undone.
//
//	90 etcd is stopped   93 servers are closed   99 accepted   1010 update a   1020 delete b   1030 create b
func restored() *history.History {
	h := sound()
	moment := func(change history.Change, milliseconds int64) history.Change {
		change.Observed = milliseconds * millisecond
		return change
	}
	a1010, b1030 := object("a", "a1", 1010, "x"), object("b", "b3", 1030, "y")
	h.Restores = []history.Restore{{
		Snapshot: 40, Revision: 1000, Objects: []history.Object{a40, b20},
		Stopped: at(90), Closed: at(93), Accepted: at(99),
	}}
	h.Changes = append(h.Changes,
		moment(change(a1010), 110), moment(history.Change{Revision: 1020, Object: b20, Deleted: true}, 120),
		moment(change(b1030), 130))
	update := write(history.Update, a1010, 40)
	update.Call, update.Return = at(107), at(112)
	deletion := history.Operation{
		ID: 1020, Target: history.Balanced, Verb: history.Delete, Name: "b", Outcome: history.OK,
		Object: &history.Object{Name: "b", UID: "b1"},
		Call:   at(117), Return: at(122),
	}
	create := write(history.Create, b1030, 0)
	create.Call, create.Return = at(127), at(132)
	closed := list(1101, 94, "", 0)
	closed.Outcome, closed.Page = history.Unknown, nil
	h.Operations = append(h.Operations, update, deletion, create, closed,
		list(1102, 100, "0", 1000, a40, b20), get(1103, 100, "", a40), get(1104, 102, "0", a40), get(1105, 124, "", a1010))
	initialEnd := bookmark(1000)
	initialEnd.EndOfInitial = true
	h.Watches = append(h.Watches, history.Watch{ID: 1201, Call: at(99), Initial: true, Events: []history.Event{
		event(history.Added, a40, 40), event(history.Added, b20, 20), initialEnd, event(history.Modified, a1010, 1010),
		event(history.Deleted, b20, 1020), event(history.Added, b1030, 1030), bookmark(1031),
	}})
	for i := range h.Watches {
		for j := range h.Watches[i].Events {
			if e := &h.Watches[i].Events[j]; e.Object.Revision >= 1000 || h.Watches[i].ID == 1201 {
				e.At = at(140)
			}
		}
	}
	h.Sort()
	return h
}

func TestRestores(t *testing.T) {
	operation := func(h *history.History, id int) *history.Operation {
		for i := range h.Operations {
			if h.Operations[i].ID == id {
				return &h.Operations[i]
			}
		}
		t.Fatalf("there is no operation %d", id)
		return nil
	}
	tests := map[string]struct {
		change func(h *history.History)
		want   []string
	}{
		"sound": {change: func(*history.History) {}},
		"a read is answered after a restore, and was sent before": {
			change: func(h *history.History) {
				o := operation(h, 1104)
				o.Call, o.Object = at(95), &a40
				before := get(1100, 85, "0", a70)
				h.Operations = append(h.Operations, before)
			},
		},
		"the snapshot had more": {
			change: func(h *history.History) { h.Restores[0].Objects = h.Restores[0].Objects[:1] },
			want:   []string{RestoredState},
		},
		"the revision goes back": {
			change: func(h *history.History) { h.Restores[0].Revision = 60 },
			want: []string{ClosedStore, Linearizability, ListPages, ListSnapshot, LostUpdate, RestoredState, StaleRead,
				WatchInitial, WatchRestore},
		},
		"a closed server answers": {
			change: func(h *history.History) {
				o := operation(h, 1101)
				o.Outcome, o.Reason = history.Refused, history.NotFound
			},
			want: []string{ClosedStore},
		},
		"an undone write is read": {
			change: func(h *history.History) { *operation(h, 1103).Object = a70 },
			want:   []string{Linearizability, StaleRead},
		},
		"an undone object is listed": {
			change: func(h *history.History) {
				o := operation(h, 1102)
				o.Page.Items = []history.Object{a40, b60}
			},
			want: []string{ListSnapshot},
		},
		"a restored object is missing after a new list": {
			change: func(h *history.History) {
				w := &h.Watches[len(h.Watches)-1]
				w.Events = append(w.Events[:1:1], w.Events[2:]...)
			},
			want: []string{WatchInitial},
		},
		"a watch continues past the restore": {
			change: func(h *history.History) {
				for i := range h.Watches {
					if h.Watches[i].ID == 201 {
						e := event(history.Modified, object("a", "a1", 1010, "x"), 1010)
						e.At = at(140)
						h.Watches[i].Events = append(h.Watches[i].Events, e)
					}
				}
			},
			want: []string{WatchRestore},
		},
		"a watch reports a change before the restore was accepted": {
			change: func(h *history.History) { h.Watches[len(h.Watches)-1].Events[2].At = at(95) },
			want:   []string{ClosedStore},
		},
		"an undone write comes back": {
			change: func(h *history.History) {
				again := object("a", "a1", 1005, "y")
				again.Value = "v70"
				h.Changes = append(h.Changes, history.Change{Revision: 1005, Object: again, Observed: at(105)})
			},
			want: []string{AcknowledgedWrite, Linearizability, LostUpdate, UnexplainedChange, WatchResume},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := restored()
			test.change(h)
			h.Sort()
			mustViolate(t, h, test.want)
		})
	}
}
