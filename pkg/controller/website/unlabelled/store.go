package unlabelled

import (
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
)

// store turns the changes that a reflector sees into events. It remembers the
// children of Websites only: those that a watch has missed the deletion of.
type store struct {
	handler cache.ResourceEventHandler
	// children is used by the goroutine of the reflector alone.
	children map[cache.ObjectName]*metav1.PartialObjectMetadata
	synced   atomic.Bool
}

var _ cache.TransformingStore = &store{}

func newStore(handler cache.ResourceEventHandler) *store {
	return &store{handler: handler, children: map[cache.ObjectName]*metav1.PartialObjectMetadata{}}
}

// Add takes an object that is new to the watch, or has lost the label.
func (s *store) Add(obj any) error { return s.Update(obj) }

// Update takes an object that has changed.
func (s *store) Update(obj any) error {
	object, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil
	}
	key := cache.MetaObjectToName(object)
	before, known := s.children[key]
	if !isChild(object) {
		delete(s.children, key)
		if known {
			s.handler.OnUpdate(before, trim(object))
		}
		return nil
	}
	s.children[key] = trim(object)
	if known {
		s.handler.OnUpdate(before, s.children[key])
	} else {
		s.handler.OnAdd(s.children[key], !s.synced.Load())
	}
	return nil
}

// Delete takes an object that is deleted, or has been given the label.
func (s *store) Delete(obj any) error {
	object, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil
	}
	delete(s.children, cache.MetaObjectToName(object))
	s.handler.OnDelete(trim(object))
	return nil
}

// Replace takes all objects, at the start and after events were missed.
func (s *store) Replace(list []any, _ string) error {
	missing := s.children
	s.children = map[cache.ObjectName]*metav1.PartialObjectMetadata{}
	for _, obj := range list {
		if object, ok := obj.(*metav1.PartialObjectMetadata); ok {
			key := cache.MetaObjectToName(object)
			if before := missing[key]; before != nil {
				s.children[key] = before
				delete(missing, key)
			}
			if err := s.Update(object); err != nil {
				return err
			}
		}
	}
	s.synced.Store(true)
	for _, object := range missing {
		s.handler.OnDelete(object)
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
