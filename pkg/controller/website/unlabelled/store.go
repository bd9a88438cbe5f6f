package unlabelled

import (
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
)

// store turns the changes that a reflector sees into events. It remembers the
// children of Websites only: those that a watch has missed the deletion of.
type store struct {
	handler cache.ResourceEventHandler
	// children is written by the goroutine of the reflector alone.
	children cache.Indexer
	synced   atomic.Bool
}

var _ cache.TransformingStore = &store{}

func newStore(handler cache.ResourceEventHandler) *store {
	return &store{handler: handler, children: cache.NewIndexer(cache.MetaNamespaceKeyFunc, children.IndexByOwner())}
}

// Add takes an object that is new to the watch, or has lost the label.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update takes an object that has changed.
func (s *store) Update(obj any) error {
	object, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil
	}
	before, known, err := s.children.Get(object)
	if err != nil {
		return fmt.Errorf("reading the metadata of %s/%s: %w", object.Namespace, object.Name, err)
	}
	trimmed := trim(object)
	if !isChild(object) {
		if err := s.children.Delete(object); err != nil {
			return fmt.Errorf("removing the metadata of %s/%s: %w", object.Namespace, object.Name, err)
		}
		if known {
			s.handler.OnUpdate(before, trimmed)
		}
		return nil
	}
	if err := s.children.Update(trimmed); err != nil {
		return fmt.Errorf("keeping the metadata of %s/%s: %w", object.Namespace, object.Name, err)
	}
	if known {
		s.handler.OnUpdate(before, trimmed)
	} else {
		s.handler.OnAdd(trimmed, !s.synced.Load())
	}
	return nil
}

// Delete takes an object that is deleted, or has been given the label.
func (s *store) Delete(obj any) error {
	object, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil
	}
	if err := s.children.Delete(object); err != nil {
		return fmt.Errorf("removing the metadata of %s/%s: %w", object.Namespace, object.Name, err)
	}
	s.handler.OnDelete(trim(object))
	return nil
}

// Replace takes all objects, at the start and after events were missed.
func (s *store) Replace(list []any, _ string) error {
	missing := sets.New(s.children.ListKeys()...)
	for _, obj := range list {
		if object, ok := obj.(*metav1.PartialObjectMetadata); ok {
			missing.Delete(cache.MetaObjectToName(object).String())
			if err := s.Update(object); err != nil {
				return err
			}
		}
	}
	s.synced.Store(true)
	for key := range missing {
		object, _, err := s.children.GetByKey(key)
		if err != nil {
			return fmt.Errorf("reading the metadata of %s: %w", key, err)
		}
		if err := s.Delete(object); err != nil {
			return err
		}
	}
	return nil
}

// Resync does nothing: the informer of Websites resyncs.
func (s *store) Resync() error { return nil }

// Transformer trims objects while the initial list is streamed.
func (s *store) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) {
		if object, ok := obj.(*metav1.PartialObjectMetadata); ok {
			return trim(object), nil
		}
		return obj, nil
	}
}

func isChild(object *metav1.PartialObjectMetadata) bool {
	_, _, ok := children.OwnerOf(object)
	return ok
}

// trim returns what identifies an object, with its owner if it is a child.
func trim(object *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	trimmed := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name}}
	if isChild(object) {
		trimmed.UID, trimmed.Generation, trimmed.OwnerReferences = object.UID, object.Generation, children.TrimOwners(object.OwnerReferences)
	}
	return trimmed
}
