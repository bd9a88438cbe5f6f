package store

import (
	"bytes"
	"hash/maphash"

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
	// maxSharedSet is the size of the largest set of fields that is shared, in bytes.
	maxSharedSet = 8 << 10
)

// resourceNames are those that a Website may have.
var resourceNames = [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}

// sharingCodec decodes Websites that share equal parts in memory: resources, as each of their maps has room for eight
// quantities, and sets of fields. Without it a Website takes more than twice as much of the watch cache. Nothing
// that is read from a store may be changed in place, which the watch cache depends on as well.
type sharingCodec struct {
	runtime.Codec
	resources, sets *lru.Cache
	seed            maphash.Seed
}

func newSharingCodec(codec runtime.Codec) sharingCodec {
	return sharingCodec{codec, lru.New(sharedParts), lru.New(sharedParts), maphash.MakeSeed()}
}

// Decode calls the codec underneath.
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

// list returns the shared list of the same quantities.
func (c sharingCodec) list(list corev1.ResourceList) corev1.ResourceList {
	var key [len(resourceNames)]string
	shared := 0
	for i, name := range resourceNames {
		if quantity, ok := list[name]; ok {
			key[i] = quantity.String()
			shared++
		}
	}
	if shared == 0 || shared < len(list) {
		return list
	}
	if shared, ok := c.resources.Get(key); ok {
		return shared.(corev1.ResourceList)
	}
	c.resources.Add(key, list)
	return list
}

// set returns the shared set of the same fields.
func (c sharingCodec) set(set *metav1.FieldsV1) *metav1.FieldsV1 {
	raw := set.GetRawBytes()
	if len(raw) == 0 || len(raw) > maxSharedSet {
		return set
	}
	hash := maphash.Bytes(c.seed, raw)
	if found, ok := c.sets.Get(hash); ok {
		if shared := found.(*metav1.FieldsV1); bytes.Equal(shared.GetRawBytes(), raw) {
			return shared
		}
	}
	c.sets.Add(hash, set)
	return set
}
