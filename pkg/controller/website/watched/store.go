// Package watched keeps the objects that a reflector lists and watches, and calls a handler. Unlike
// an informer it can be emptied when the cluster no longer serves a kind, and reports objects that it
// does not keep.
package watched

import (
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
)

// Trim returns the required fields of an object, and whether to keep it. It may be called with its
// own result.
type Trim func(obj any) (trimmed any, keep bool)

// Store keeps the objects of one kind, by namespace and name. Only the goroutine of the reflector writes to it.
type Store struct {
	cache.Indexer
	handler cache.ResourceEventHandler
	trim    Trim
	// listed is called after the initial list. It may be nil.
	listed func()
	synced atomic.Bool
}

var _ cache.TransformingStore = &Store{}

// NewStore returns an empty store.
func NewStore(handler cache.ResourceEventHandler, trim Trim, listed func(), indexers cache.Indexers) *Store {
	indexer := cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, indexers)
	return &Store{Indexer: indexer, handler: handler, trim: trim, listed: listed}
}

// HasSynced reports whether the initial list is complete.
func (s *Store) HasSynced() bool { return s.synced.Load() }

// Add stores an object that is new to the watch.
func (s *Store) Add(obj any) error { return s.Update(obj) }

// Update stores an object that has changed.
func (s *Store) Update(obj any) error {
	trimmed, keep := s.trim(obj)
	before, known, err := s.Get(trimmed)
	if err != nil {
		return fmt.Errorf("reading an object: %w", err)
	}
	write := s.Indexer.Update
	if !keep {
		write = s.Indexer.Delete
	}
	if err := write(trimmed); err != nil {
		return fmt.Errorf("keeping an object: %w", err)
	}
	switch {
	case known:
		s.handler.OnUpdate(before, trimmed)
	case keep:
		s.handler.OnAdd(trimmed, !s.synced.Load())
	}
	return nil
}

// Delete removes an object that is deleted, or no longer selected. The handler is called even if the
// object was not kept.
func (s *Store) Delete(obj any) error {
	trimmed, _ := s.trim(obj)
	if err := s.Indexer.Delete(trimmed); err != nil {
		return fmt.Errorf("removing an object: %w", err)
	}
	s.handler.OnDelete(trimmed)
	return nil
}

// Replace replaces all objects, at the start and after missed events.
func (s *Store) Replace(list []any, _ string) error {
	missing := sets.New(s.ListKeys()...)
	for _, obj := range list {
		object, err := meta.Accessor(obj)
		if err != nil {
			return fmt.Errorf("reading the metadata of an object: %w", err)
		}
		missing.Delete(cache.MetaObjectToName(object).String())
		if err := s.Update(obj); err != nil {
			return err
		}
	}
	for key := range missing {
		if obj, exists, err := s.GetByKey(key); err == nil && exists {
			if err := s.Delete(obj); err != nil {
				return err
			}
		}
	}
	s.synced.Store(true)
	if s.listed != nil {
		s.listed()
	}
	return nil
}

// Clear removes all objects when their kind is no longer watched.
func (s *Store) Clear() {
	s.synced.Store(false)
	for _, obj := range s.List() {
		_ = s.Delete(obj) // It was added, so it has a key.
	}
}

// Resync does nothing: the informer of Websites resyncs.
func (s *Store) Resync() error { return nil }

// Transformer trims objects while the initial list is streamed.
func (s *Store) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		trimmed, _ := s.trim(obj)
		return trimmed, nil
	}
}
