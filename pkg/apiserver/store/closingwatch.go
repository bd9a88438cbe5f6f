package store

import (
	"context"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// watchSource is the storage from which the watch cache is filled. Its watches end when the
// server closes, and none begins while it is closed, so that the cache is not ready until it
// has listed the store with which the server opens. It would otherwise answer from its
// content, which may be undone, until etcd's client has resumed the watch.
type watchSource struct {
	storage.Interface
	guard *Guard
}

// Watch starts a watch for the watch cache.
func (s watchSource) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	opening := s.guard.opening.Load()
	// Before the first verification there is nothing to go back from.
	if closed := s.guard.Closed(); closed != nil && closed.Reason != ReasonUnverified {
		return nil, NewClosedError(closed)
	}
	ctx, cancel := context.WithCancel(ctx)
	detach := context.AfterFunc(opening.ctx, cancel)
	w, err := s.Interface.Watch(ctx, key, opts)
	if err != nil {
		detach()
		cancel()
		return nil, err
	}
	return &closingWatch{w, detach, cancel}, nil
}

// closingWatch is a watch that no longer follows the opening once it is stopped.
type closingWatch struct {
	watch.Interface
	detach func() bool
	cancel context.CancelFunc
}

// Stop ends the watch.
func (w *closingWatch) Stop() {
	w.detach()
	w.Interface.Stop()
	w.cancel()
}
