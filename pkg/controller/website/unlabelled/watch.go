// Package unlabelled watches the children of Websites that lack the label on which the controller's
// informers select: another client has removed it, or created the child. Other objects are not kept
// in memory.
package unlabelled

import (
	"context"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/watched"
)

// selector excludes the objects of the informers.
const selector = resources.LabelManagedBy + "!=" + resources.ManagedBy

// Watch watches the metadata of objects without the label.
type Watch struct {
	client    metadata.Interface
	namespace string
	stores    map[schema.GroupVersionResource]*watched.Store
}

// New returns a watch of the objects in a namespace, or in all
// (metav1.NamespaceAll).
func New(client metadata.Interface, namespace string) *Watch {
	return &Watch{client: client, namespace: namespace, stores: map[schema.GroupVersionResource]*watched.Store{}}
}

// Add calls a handler with the metadata of the children of one resource. For other objects, the
// handler gets only deletions.
func (w *Watch) Add(resource schema.GroupVersionResource, handler cache.ResourceEventHandler) {
	w.stores[resource] = newStore(handler)
}

// Of returns the names of the children of a Website of one added resource, sorted.
func (w *Watch) Of(resource schema.GroupVersionResource, website metav1.Object) []string {
	var names []string
	key := cached.OwnerKey(website.GetNamespace(), website.GetUID())
	for _, child := range cached.Indexed[*metav1.PartialObjectMetadata](w.stores[resource], cached.ByOwner, key) {
		names = append(names, child.Name)
	}
	slices.Sort(names)
	return names
}

// HasSynced reports whether the children that existed at the start are known.
func (w *Watch) HasSynced() bool {
	for _, store := range w.stores {
		if !store.HasSynced() {
			return false
		}
	}
	return true
}

// Run watches until the context ends.
func (w *Watch) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for resource, store := range w.stores {
		objects := w.client.Resource(resource).Namespace(w.namespace)
		source := watched.Source(objects, selector, watched.Once)
		reflector := cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(source, w.client),
			&metav1.PartialObjectMetadata{}, store, cache.ReflectorOptions{Name: "unlabelled " + resource.Resource})
		running.Go(func() { reflector.RunWithContext(ctx) })
	}
}

func newStore(handler cache.ResourceEventHandler) *watched.Store {
	return watched.NewStore(handler, trim, nil, cached.IndexByOwner())
}

// trim returns the identity of an object. It keeps a child, with its owner.
func trim(obj any) (any, bool) {
	object, ok := obj.(*metav1.PartialObjectMetadata)
	if !ok {
		return obj, false
	}
	trimmed := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name}}
	_, _, isChild := cached.OwnerOf(object)
	if isChild {
		trimmed.UID, trimmed.Generation, trimmed.OwnerReferences = object.UID, object.Generation,
			cached.TrimOwners(object.OwnerReferences)
	}
	return trimmed, isChild
}
