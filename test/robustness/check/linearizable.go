package check

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/kubesites/website-apiserver/test/robustness/history"
)

// linearizabilityTimeout bounds the search for an order of the operations on one object. The search
// takes milliseconds, unless no order exists.
const linearizabilityTimeout = time.Minute

// state is the state of an object in the model.
type state struct {
	exists bool
	object history.Object
	// revision is the revision of the last change, also of a deletion.
	revision int64
}

// step is an operation in the model. A write has the change that etcd recorded. A step without an
// operation is the change of an object by a restore.
type step struct {
	operation *history.Operation
	change    *history.Change
}

func (i step) restores() bool { return i.operation == nil }

// model returns the sequential specification of one object.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{} },
		Step: func(s, input, _ any) (bool, any) { return input.(step).apply(s.(state)) },
		DescribeOperation: func(input, _ any) string {
			return input.(step).describe()
		},
		DescribeState: func(s any) string {
			if s := s.(state); s.exists {
				return fmt.Sprintf("%d: %s", s.object.Revision, s.object.Value)
			}
			return "absent"
		},
	}
}

func (i step) apply(s state) (bool, state) {
	if i.restores() {
		return i.change.Revision > s.revision,
			state{exists: !i.change.Deleted, object: i.change.Object, revision: i.change.Revision}
	}
	o := i.operation
	if o.Outcome == history.Refused {
		switch {
		case o.Reason == history.NotFound:
			return !s.exists, s
		case o.Reason == history.AlreadyExists:
			return s.exists, s
		case o.Reason == history.Conflict && o.Request.Precondition != 0:
			return !s.exists || s.object.Revision != o.Request.Precondition, s
		default:
			return true, s
		}
	}
	if o.Verb == history.Get {
		return s.exists && s.object == *o.Object, s
	}
	if i.change == nil || i.change.Revision <= s.revision {
		return false, s
	}
	switch o.Verb {
	case history.Create:
		if s.exists {
			return false, s
		}
	case history.Delete:
		return s.exists && s.object.UID == i.change.Object.UID, state{revision: i.change.Revision}
	default:
		if !s.exists || o.Request.Precondition != 0 && o.Request.Precondition != s.object.Revision {
			return false, s
		}
	}
	return true, state{exists: true, object: i.change.Object, revision: i.change.Revision}
}

func (i step) describe() string {
	if i.restores() {
		return fmt.Sprintf("restore -> %s", describe(i.change))
	}
	o := i.operation
	what := string(o.Verb)
	if o.Request.Precondition != 0 {
		what += fmt.Sprintf(" if %d", o.Request.Precondition)
	}
	switch {
	case o.Outcome == history.Refused:
		return what + " -> " + o.Reason
	case o.Verb == history.Get:
		return fmt.Sprintf("%s -> %d: %s", what, o.Object.Revision, o.Object.Value)
	case i.change == nil:
		return what + " -> acknowledged, but not stored"
	case o.Outcome == history.Unknown:
		return fmt.Sprintf("%s -> no answer; stored as %d", what, i.change.Revision)
	default:
		return fmt.Sprintf("%s -> %d", what, i.change.Revision)
	}
}

// operations returns porcupine's input by object: writes, and reads of the most recent state.
// etcd's history resolves unknown outcomes: a write with a change happened before the test received
// the change, and the others never happened.
func operations(h *history.History, t *truth) map[string][]porcupine.Operation {
	e := resolve(h, t)
	byName := map[string][]porcupine.Operation{}
	for i := range h.Operations {
		o := &h.Operations[i]
		s := step{operation: o, change: e.change[o.ID]}
		returned := o.Return
		switch {
		case o.Verb == history.List:
			continue
		case o.Verb == history.Get && (o.Request.ResourceVersion != "" || o.Outcome == history.Unknown):
			continue
		case o.Outcome == history.Unknown && s.change == nil:
			continue
		case o.Outcome == history.Unknown:
			returned = max(o.Call, s.change.Observed)
		}
		byName[o.Name] = append(byName[o.Name], porcupine.Operation{ClientId: o.Client, Input: s, Call: o.Call,
			Return: returned})
	}
	for _, r := range h.Restores {
		for name, changes := range t.byName {
			for i := range changes {
				// Clients have positive numbers.
				if c := &changes[i]; c.Restored && c.Revision == r.Revision {
					byName[name] = append(byName[name],
						porcupine.Operation{Input: step{change: c}, Call: r.Stopped, Return: r.Accepted})
				}
			}
		}
	}
	for _, operations := range byName {
		slices.SortStableFunc(operations, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	}
	return byName
}

func checkLinearizable(h *history.History, t *truth) []Violation {
	var violations []Violation
	byName := operations(h, t)
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if result := porcupine.CheckOperationsTimeout(model(), byName[name], linearizabilityTimeout); result != porcupine.Ok {
			violations = append(violations, violationf(Linearizability, name,
				"the %d operations on %s have no order that explains their answers (%s)", len(byName[name]), name, result))
		}
	}
	return violations
}

// pictured is the least number of operations in a picture, if there are that many: a browser cannot
// show all.
const pictured = 400

// Picture writes a page that shows the operations on an object, and which of them can be
// linearized. Without a name, it takes the object with the most operations. It shows the first part
// of a long history, up to a moment without a running operation, unless whole is set.
func Picture(h *history.History, name string, whole bool, w io.Writer) error {
	byName := operations(h, newTruth(h))
	if name == "" {
		for _, candidate := range slices.Sorted(maps.Keys(byName)) {
			if len(byName[candidate]) > len(byName[name]) {
				name = candidate
			}
		}
	}
	shown := byName[name]
	if !whole {
		shown = beginning(shown)
	}
	_, info := porcupine.CheckOperationsVerbose(model(), shown, linearizabilityTimeout)
	if err := porcupine.Visualize(model(), info, w); err != nil {
		return fmt.Errorf("drawing the history of %s: %w", name, err)
	}
	return nil
}

// beginning cuts operations, which are in the order of their calls, at a moment without a
// running one.
func beginning(operations []porcupine.Operation) []porcupine.Operation {
	var last int64
	for i, o := range operations {
		if i >= pictured && o.Call > last {
			return operations[:i]
		}
		last = max(last, o.Return)
	}
	return operations
}
