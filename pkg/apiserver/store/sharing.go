package store

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

const (
	// sharedParts is the number of parts of each kind that are known. Most Websites have the resources of
	// few classes, and managers that make many objects set the same fields in all of them.
	sharedParts = 256
	// maxSharedPart is the size of the largest part that is shared, in bytes.
	maxSharedPart = 8 << 10
)

// sharingCodec decodes Websites that share in memory what is equal in many of them: resources, as each of
// their maps has room for eight quantities, and sets of fields. Without it they take half of the watch cache. Nothing
// that is read from a store may be changed in place, which the watch cache depends on as well.
type sharingCodec struct {
	runtime.Codec
	resources, sets *lru.Cache
}

func newSharingCodec(codec runtime.Codec) sharingCodec {
	return sharingCodec{codec, lru.New(sharedParts), lru.New(sharedParts)}
}

// Decode is that of the codec underneath.
func (c sharingCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object,
	*schema.GroupVersionKind, error) {
	object, kind, err := c.Codec.Decode(data, defaults, into)
	if w, ok := object.(*website.Website); ok && err == nil {
		for _, requirements := range []*corev1.ResourceRequirements{&w.Spec.Resources.Server, &w.Spec.Resources.Sync} {
			requirements.Requests, requirements.Limits = c.list(requirements.Requests), c.list(requirements.Limits)
		}
		if w.Spec.Storage.SizeLimit != nil {
			// A quantity keeps its text when it is encoded first, which several requests would do at once.
			_ = w.Spec.Storage.SizeLimit.String()
		}
		for i := range w.ManagedFields {
			w.ManagedFields[i].FieldsV1 = c.set(w.ManagedFields[i].FieldsV1)
		}
	}
	return object, kind, err
}

// list returns the quantities that are shared.
func (c sharingCodec) list(list corev1.ResourceList) corev1.ResourceList {
	if len(list) == 0 {
		return list
	}
	var key []byte
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		key = append(append(append(append(key, name...), '='), quantity.String()...), ',')
	}
	if len(key) > maxSharedPart {
		return list
	}
	return shared(c.resources, string(key), list)
}

// set returns the set of fields that is shared.
func (c sharingCodec) set(set *metav1.FieldsV1) *metav1.FieldsV1 {
	if set == nil || set.GetRawReader().Size() > maxSharedPart {
		return set
	}
	return shared(c.sets, set.GetRawString(), set)
}

// shared returns the known part, which becomes the given one if there is none.
func shared[T any](known *lru.Cache, key string, part T) T {
	if found, ok := known.Get(key); ok {
		return found.(T)
	}
	known.Add(key, part)
	return part
}
