// Package history describes the operations of website-apiserver's clients, their results, and the
// changes in its etcd. The tests of robustness record a history, and package check verifies it.
package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Object identifies one version of a Website.
type Object struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Revision is its resource version, which is the revision of etcd that wrote it.
	Revision int64 `json:"revision"`
	// Value is unique to the write that made this version.
	Value string `json:"value"`
	// Tier is the value of a label and of a field by which the test selects Websites.
	Tier string `json:"tier"`
}

// Verb is the verb of a request.
type Verb string

// The verbs of operations.
const (
	Create Verb = "create"
	Update Verb = "update"
	Patch  Verb = "patch"
	Delete Verb = "delete"
	Get    Verb = "get"
	List   Verb = "list"
)

// Writes returns whether the verb changes an object.
func (v Verb) Writes() bool { return v == Create || v == Update || v == Patch || v == Delete }

// Balanced is the target of operations that any of the servers may execute.
const Balanced = "kube-apiserver"

// Outcome is a client's knowledge of its operation.
type Outcome string

const (
	// OK operations succeeded.
	OK Outcome = "ok"
	// Refused operations have changed nothing, as the response proves.
	Refused Outcome = "refused"
	// Unknown operations may have happened, or may still happen: there was no response, or one that
	// does not exclude it.
	Unknown Outcome = "unknown"
)

// These reasons of refused operations tell the state of the object.
const (
	NotFound      = "NotFound"
	AlreadyExists = "AlreadyExists"
	Conflict      = "Conflict"
	Expired       = "Expired"
)

// Request holds the parameters of an operation.
type Request struct {
	// ResourceVersion is empty for the most recent state.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Exact is set if the list must be at ResourceVersion, and not newer.
	Exact bool `json:"exact,omitempty"`
	// Limit is the size of a page; 0 is no limit.
	Limit int64 `json:"limit,omitempty"`
	// Chain is the ID of the first page that this one continues; 0 is none.
	Chain int `json:"chain,omitempty"`
	// Tier selects Websites; empty selects all.
	Tier string `json:"tier,omitempty"`
	// Value and NewTier are set by a write.
	Value   string `json:"value,omitempty"`
	NewTier string `json:"newTier,omitempty"`
	// Precondition is the revision that an update requires; 0 is none.
	Precondition int64 `json:"precondition,omitempty"`
}

// Page is the response to a list.
type Page struct {
	Revision int64    `json:"revision"`
	Items    []Object `json:"items"`
	// More is set if there is a further page.
	More bool `json:"more,omitempty"`
	// Remaining is the number of remaining objects, if the server reported it.
	Remaining *int64 `json:"remaining,omitempty"`
}

// Operation is one request and its response.
type Operation struct {
	ID     int `json:"id"`
	Client int `json:"client"`
	// Target is the requested server.
	Target string `json:"target"`
	Verb   Verb   `json:"verb"`
	// Name is empty for lists.
	Name    string  `json:"name,omitempty"`
	Request Request `json:"request"`
	// Call and Return are nanoseconds since the start of the history.
	Call    int64   `json:"call"`
	Return  int64   `json:"return"`
	Outcome Outcome `json:"outcome"`
	// Reason is the reason of a refused operation, Error the whole message.
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
	// Object is the result of a get or of a write. A deleted one has only name and UID.
	Object *Object `json:"object,omitempty"`
	Page   *Page   `json:"page,omitempty"`
}

func (o *Operation) String() string {
	what := fmt.Sprintf("operation %d (client %d at %s): %s %s", o.ID, o.Client, o.Target, o.Verb, o.Name)
	if o.Request.ResourceVersion != "" {
		what += " at resourceVersion " + o.Request.ResourceVersion
	}
	return what
}

// EventType is the type of a watch event.
type EventType string

// The types of watch events.
const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	Bookmark EventType = "BOOKMARK"
)

// Event is an event of a watch.
type Event struct {
	Type EventType `json:"type"`
	// Object is the object of the event. Of a bookmark, only Revision is set.
	Object Object `json:"object"`
	// EndOfInitial is set on the bookmark that ends the initial events.
	EndOfInitial bool `json:"endOfInitial,omitempty"`
	// At is the time of its receipt, in nanoseconds since the start of the history.
	At int64 `json:"at"`
}

// Watch is one request to watch, until it ended.
type Watch struct {
	ID     int    `json:"id"`
	Client int    `json:"client"`
	Target string `json:"target"`
	// From is the revision after which it starts. With Initial, the stream begins with the
	// current objects instead.
	From    int64 `json:"from,omitempty"`
	Initial bool  `json:"initial,omitempty"`
	// Tier selects Websites; empty selects all.
	Tier   string  `json:"tier,omitempty"`
	Call   int64   `json:"call"`
	Events []Event `json:"events,omitempty"`
	// Error is the reason why it could not start, or how it ended.
	Error string `json:"error,omitempty"`
}

func (w *Watch) String() string {
	return fmt.Sprintf("watch %d (client %d at %s, from %d, tier %q)", w.ID, w.Client, w.Target, w.From, w.Tier)
}

// Change is one revision of etcd that created, changed or deleted a Website.
type Change struct {
	Revision int64 `json:"revision"`
	// Object is the state afterwards, or the last state of a deleted object.
	Object  Object `json:"object"`
	Deleted bool   `json:"deleted,omitempty"`
	// Observed is the time at which the test received it from etcd, in nanoseconds since the start of
	// the history: it was committed before.
	Observed int64 `json:"observed"`
	// Restored is set on a change by a restored snapshot instead of a write.
	Restored bool `json:"restored,omitempty"`
}

// Restore is the replacement of the store by an earlier snapshot of it. Times are nanoseconds since
// the start of the history.
type Restore struct {
	// Snapshot is the revision of the snapshot, Revision the one from which etcd continues.
	Snapshot int64 `json:"snapshot"`
	Revision int64 `json:"revision"`
	// Objects are the objects in etcd afterwards.
	Objects []Object `json:"objects"`
	// Stopped is the time at which etcd was stopped, Closed the time at which all servers had detected
	// the other store, and Accepted the time at which they were instructed to serve it.
	Stopped  int64 `json:"stopped"`
	Closed   int64 `json:"closed"`
	Accepted int64 `json:"accepted"`
}

// History is a recorded history.
type History struct {
	Operations []Operation
	Watches    []Watch
	// Changes are etcd's own history of all Websites of the test.
	Changes []Change
	// Restores are in the order in which they happened.
	Restores []Restore
}

// Sort sorts the parts into the order that checks require.
func (h *History) Sort() {
	slices.SortStableFunc(h.Operations, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
	slices.SortStableFunc(h.Watches, func(a, b Watch) int { return cmp.Compare(a.Call, b.Call) })
	slices.SortStableFunc(h.Changes, func(a, b Change) int { return cmp.Compare(a.Revision, b.Revision) })
}

// line is one line of the file: exactly one member is set.
type line struct {
	Operation *Operation `json:"operation,omitempty"`
	Watch     *Watch     `json:"watch,omitempty"`
	Change    *Change    `json:"change,omitempty"`
	Restore   *Restore   `json:"restore,omitempty"`
}

// Write writes the history as JSON, one operation, watch, change or restore per line.
func (h *History) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	write := func(l line) error {
		if err := encoder.Encode(l); err != nil {
			return fmt.Errorf("writing a history: %w", err)
		}
		return nil
	}
	for i := range h.Operations {
		if err := write(line{Operation: &h.Operations[i]}); err != nil {
			return err
		}
	}
	for i := range h.Watches {
		if err := write(line{Watch: &h.Watches[i]}); err != nil {
			return err
		}
	}
	for i := range h.Changes {
		if err := write(line{Change: &h.Changes[i]}); err != nil {
			return err
		}
	}
	for i := range h.Restores {
		if err := write(line{Restore: &h.Restores[i]}); err != nil {
			return err
		}
	}
	return nil
}

// Read reads a history that Write has written.
func Read(r io.Reader) (*History, error) {
	h := &History{}
	for decoder := json.NewDecoder(r); ; {
		var l line
		err := decoder.Decode(&l)
		switch {
		case err == io.EOF:
			return h, nil
		case err != nil:
			return nil, fmt.Errorf("reading a history: %w", err)
		case l.Operation != nil:
			h.Operations = append(h.Operations, *l.Operation)
		case l.Watch != nil:
			h.Watches = append(h.Watches, *l.Watch)
		case l.Change != nil:
			h.Changes = append(h.Changes, *l.Change)
		case l.Restore != nil:
			h.Restores = append(h.Restores, *l.Restore)
		}
	}
}
