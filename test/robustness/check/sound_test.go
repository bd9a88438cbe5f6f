package check

import (
	"fmt"

	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// The tests change this history: the changes in etcd, and the operations of clients, one
// millisecond after the other.
//
//	10 create a (tier x)   20 create b (tier y)   30 update a   40 move a to tier y
//	50 delete b            60 create b (tier x)   70 update a
const millisecond = 1_000_000

func object(name, uid string, revision int64, tier string) history.Object {
	return history.Object{Name: name, UID: uid, Revision: revision, Value: fmt.Sprintf("v%d", revision), Tier: tier}
}

var (
	a10 = object("a", "a1", 10, "x")
	b20 = object("b", "b1", 20, "y")
	a30 = object("a", "a1", 30, "x")
	a40 = object("a", "a1", 40, "y")
	b60 = object("b", "b2", 60, "x")
	a70 = object("a", "a1", 70, "y")
)

// at returns the time at which etcd stored a revision. Its write takes from 3 ms before to
// 3 ms after, and the test receives it 1 ms after.
func at(revision int64) int64 { return revision * millisecond }

func write(verb history.Verb, o history.Object, precondition int64) history.Operation {
	return history.Operation{
		ID: int(o.Revision), Target: history.Balanced, Verb: verb, Name: o.Name, Outcome: history.OK, Object: &o,
		Request: history.Request{Value: o.Value, NewTier: o.Tier, Precondition: precondition},
		Call:    at(o.Revision) - 3*millisecond, Return: at(o.Revision) + 3*millisecond,
	}
}

func change(o history.Object) history.Change {
	return history.Change{Revision: o.Revision, Object: o, Observed: at(o.Revision) + millisecond}
}

// read is an operation that takes 2 ms.
func read(id int, verb history.Verb, call int64, version string) history.Operation {
	return history.Operation{
		ID: id, Client: 1, Target: "server", Verb: verb, Outcome: history.OK,
		Request: history.Request{ResourceVersion: version},
		Call:    at(call), Return: at(call + 2),
	}
}

func get(id int, call int64, version string, o history.Object) history.Operation {
	operation := read(id, history.Get, call, version)
	operation.Name, operation.Object = o.Name, &o
	return operation
}

func list(id int, call int64, version string, revision int64, items ...history.Object) history.Operation {
	operation := read(id, history.List, call, version)
	operation.Page = &history.Page{Revision: revision, Items: items}
	return operation
}

func event(kind history.EventType, o history.Object, revision int64) history.Event {
	o.Revision = revision
	return history.Event{Type: kind, Object: o}
}

func bookmark(revision int64) history.Event {
	return event(history.Bookmark, history.Object{}, revision)
}

// sound returns a history without a violation.
func sound() *history.History {
	deletion := history.Operation{
		ID: 50, Target: history.Balanced, Verb: history.Delete, Name: "b", Outcome: history.OK,
		Object: &history.Object{Name: "b", UID: "b1"},
		Call:   at(47), Return: at(53),
	}
	absent := get(104, 54, "", b60)
	absent.Outcome, absent.Reason, absent.Object = history.Refused, history.NotFound, nil
	exact := list(107, 74, "40", 40, a40, b20)
	exact.Request.Exact = true
	selected := list(108, 74, "", 70, b60)
	selected.Request.Tier = "x"
	page, next := list(109, 74, "", 70, a70), list(110, 77, "", 70, b60)
	page.Request.Limit, page.Page.More = 1, true
	next.Request.Chain, next.Request.Limit = 109, 1
	initialEnd := bookmark(40)
	initialEnd.EndOfInitial = true
	return &history.History{
		Changes: []history.Change{
			change(a10), change(b20), change(a30), change(a40),
			{Revision: 50, Object: b20, Deleted: true, Observed: at(51)},
			change(b60), change(a70),
		},
		Operations: []history.Operation{
			write(history.Create, a10, 0), write(history.Create, b20, 0), write(history.Update, a30, 10),
			write(history.Patch, a40, 0), deletion, write(history.Create, b60, 0), write(history.Update, a70, 40),
			get(101, 14, "", a10), get(102, 34, "", a30), get(103, 44, "", a40), absent,
			get(105, 74, "0", a30), get(106, 74, "60", a40), exact, selected, page, next,
			list(111, 74, "0", 60, a40, b60), list(112, 78, "0", 70, a70, b60),
		},
		Watches: []history.Watch{
			{ID: 201, From: 10, Events: []history.Event{
				event(history.Added, b20, 20), event(history.Modified, a30, 30), event(history.Modified, a40, 40), bookmark(45),
				event(history.Deleted, b20, 50), event(history.Added, b60, 60), bookmark(65), event(history.Modified, a70, 70),
			}},
			{ID: 202, From: 5, Tier: "x", Events: []history.Event{
				event(history.Added, a10, 10), event(history.Modified, a30, 30), event(history.Deleted, a30, 40),
				event(history.Added, b60, 60),
			}},
			{ID: 203, Call: at(42), Initial: true, Events: []history.Event{
				event(history.Added, a40, 40), event(history.Added, b20, 20), initialEnd, event(history.Deleted, b20, 50),
			}},
		},
	}
}
