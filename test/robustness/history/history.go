// Package history describes what clients of website-apiserver did and saw, and what its
// etcd recorded meanwhile. The tests of robustness record it, and package check verifies
// it.
package history

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Object is what a test knows about one version of a Website.
type Object struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
	// Revision is its resource version, which is the revision of etcd that wrote it.
	Revision int64 `json:"revision"`
	// Value is unique to the write that made this version.
	Value string `json:"value"`
	// Tier is what the test selects Websites by: a label and a field have this value.
	Tier string `json:"tier"`
}

// Verb is what a client asked for.
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

// Balanced is the target of operations that any of the servers may have answered.
const Balanced = "kube-apiserver"

// Outcome is what a client knows about its operation afterwards.
type Outcome string

const (
	// OK operations have done what was asked for.
	OK Outcome = "ok"
	// Refused operations have changed nothing: the answer says why.
	Refused Outcome = "refused"
	// Unknown operations may have happened, or may still happen: there was no answer, or
	// one that does not exclude it.
	Unknown Outcome = "unknown"
)

// Reasons of refused operations that say something about the object.
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
	// Exact is set if the list is to be that of ResourceVersion, and not newer.
	Exact bool `json:"exact,omitempty"`
	// Limit is the size of a page; 0 is no limit.
	Limit int64 `json:"limit,omitempty"`
	// Chain is the ID of the first page that this one continues; 0 is none.
	Chain int `json:"chain,omitempty"`
	// Tier selects Websites; empty selects all.
	Tier string `json:"tier,omitempty"`
	// Value and NewTier are what a write sets.
	Value   string `json:"value,omitempty"`
	NewTier string `json:"newTier,omitempty"`
	// Precondition is the revision that an update requires; 0 is none.
	Precondition int64 `json:"precondition,omitempty"`
}

// Page is the answer to a list.
type Page struct {
	Revision int64    `json:"revision"`
	Items    []Object `json:"items"`
	// More is set if there is a further page.
	More bool `json:"more,omitempty"`
	// Remaining is how many objects follow, if the server said so.
	Remaining *int64 `json:"remaining,omitempty"`
}

// Operation is one request and its answer.
type Operation struct {
	ID     int `json:"id"`
	Client int `json:"client"`
	// Target is the server that was asked.
	Target string `json:"target"`
	Verb   Verb   `json:"verb"`
	// Name is empty for lists.
	Name    string  `json:"name,omitempty"`
	Request Request `json:"request"`
	// Call and Return are nanoseconds since the start of the history.
	Call    int64   `json:"call"`
	Return  int64   `json:"return"`
	Outcome Outcome `json:"outcome"`
	// Reason says why it was refused, Error is the whole message.
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
	// Object is what a get returned, or what a write made. Of a deleted one, only name and
	// UID are known.
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

// Event is what a watch reported.
type Event struct {
	Type EventType `json:"type"`
	// Object is that of the event. Of a bookmark, only Revision is known.
	Object Object `json:"object"`
	// EndOfInitial is set on the bookmark that ends the initial events.
	EndOfInitial bool `json:"endOfInitial,omitempty"`
	// At is when it was received, in nanoseconds since the start of the history.
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
	// Error is why it could not start, or how it ended.
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
	// Observed is when the test received it from etcd, in nanoseconds since the start of
	// the history: it was committed before.
	Observed int64 `json:"observed"`
	// Restored is set on what a restored snapshot has changed, in the place of a write.
	Restored bool `json:"restored,omitempty"`
}

// Restore is the replacement of the store by an earlier snapshot of it. Times are nanoseconds
// since the start of the history.
type Restore struct {
	// Snapshot is the revision of the snapshot, Revision the one from which etcd continues.
	Snapshot int64 `json:"snapshot"`
	Revision int64 `json:"revision"`
	// Objects are what etcd has afterwards.
	Objects []Object `json:"objects"`
	// Stopped is when etcd was stopped, Closed when all servers had noticed that the store is
	// another one, and Accepted when they were told to serve it.
	Stopped  int64 `json:"stopped"`
	Closed   int64 `json:"closed"`
	Accepted int64 `json:"accepted"`
}

// History is everything that was recorded.
type History struct {
	Operations []Operation
	Watches    []Watch
	// Changes are etcd's own history of all Websites of the test.
	Changes []Change
	// Restores are in the order in which they happened.
	Restores []Restore
}

// Sort brings the parts into the order in which checks expect them.
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

// Read reads what Write has written.
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
