package history

import (
	"slices"
	"sync"
	"time"
)

// Recorder collects a history from many goroutines.
type Recorder struct {
	start time.Time

	mu      sync.Mutex
	history History
	lastID  int
}

// NewRecorder returns an empty recorder, whose clock starts now.
func NewRecorder() *Recorder { return &Recorder{start: time.Now()} }

// Now returns the current time of the history.
func (r *Recorder) Now() int64 { return int64(time.Since(r.start)) }

// NextID returns a number that is unique among the operations and watches.
func (r *Recorder) NextID() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastID++
	return r.lastID
}

// Operation adds an operation that has ended.
func (r *Recorder) Operation(o Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Operations = append(r.history.Operations, o)
}

// Watch adds a watch that has ended.
func (r *Recorder) Watch(w Watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Watches = append(r.history.Watches, w)
}

// Change adds a change that etcd has reported.
func (r *Recorder) Change(c Change) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Changes = append(r.history.Changes, c)
}

// Restore adds a restore that has ended.
func (r *Recorder) Restore(restore Restore) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Restores = append(r.history.Restores, restore)
}

// HasChange reports whether a change of this revision, or of a later one, was added.
func (r *Recorder) HasChange(revision int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.history.Changes)
	return revision == 0 || n > 0 && r.history.Changes[n-1].Revision >= revision
}

// Count returns the number of matching operations that ended in the interval.
func (r *Recorder) Count(from, to int64, match func(*Operation) bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for i := range r.history.Operations {
		if o := &r.history.Operations[i]; o.Return >= from && o.Return < to && match(o) {
			n++
		}
	}
	return n
}

// History returns the recorded history, in order.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &History{
		Operations: slices.Clone(r.history.Operations),
		Watches:    slices.Clone(r.history.Watches),
		Changes:    slices.Clone(r.history.Changes),
		Restores:   slices.Clone(r.history.Restores),
	}
	h.Sort()
	return h
}
