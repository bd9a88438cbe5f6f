package encoding

import (
	"bytes"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// protobufListEncoder encodes lists as protobuf.
type protobufListEncoder struct {
	// EncoderWithAllocator converts and encodes all other objects.
	runtime.EncoderWithAllocator
	// protobuf encodes without conversion.
	protobuf runtime.EncoderWithAllocator
	lists
}

// Encode encodes with memory of its own.
func (e protobufListEncoder) Encode(object runtime.Object, w io.Writer) error {
	return e.EncodeWithAllocator(object, w, &runtime.Allocator{})
}

// EncodeWithAllocator measures all Websites of a list, because its size precedes it, and then writes it object by
// object.
func (e protobufListEncoder) EncodeWithAllocator(object runtime.Object, w io.Writer,
	allocator runtime.MemoryAllocator) error {
	list, to := e.of(object)
	if list == nil {
		return e.EncoderWithAllocator.EncodeWithAllocator(object, w, allocator)
	}
	measured := &protobufList{ListMeta: list.ListMeta, Items: make([]protobufWebsite, len(list.Items))}
	measured.SetGroupVersionKind(to.kind)
	for i := range list.Items {
		var err error
		if measured.Items[i], err = e.measure(&list.Items[i], to); err != nil {
			return err
		}
	}
	return e.protobuf.EncodeWithAllocator(measured, w, allocator)
}

// measure returns a Website with its size. Without room in the cache, the Website is encoded only when it is written:
// a list may be as large as the store.
func (e protobufListEncoder) measure(w *website.Website, to *converter) (protobufWebsite, error) {
	var size int
	encoded, err := e.website(w, to, runtime.ContentTypeProtobuf, func(converted versioned) (pieces, error) {
		if size = converted.Size(); !e.cache.hasRoom(size) {
			return nil, nil
		}
		return marshalProtobuf(converted)
	})
	if encoded != nil {
		size = encoded.size()
	}
	return protobufWebsite{w, to, encoded, size}, err
}

// marshalProtobuf encodes a Website of a served version. A set of fields is found by its bytes. If the same bytes
// precede it, they take its place among the pieces, and the concatenation is the same.
func marshalProtobuf(website versioned) (pieces, error) {
	encoded, err := website.Marshal()
	if err != nil {
		return nil, err
	}
	managed, size := website.GetManagedFields(), len(encoded)
	for _, entry := range managed {
		size -= len(entry.FieldsV1.GetRawBytes())
	}
	split, own := make(pieces, 0, 2*len(managed)+1), make([]byte, 0, size)
	for _, entry := range managed {
		set := entry.FieldsV1.GetRawBytes()
		before, after, found := bytes.Cut(encoded, set)
		if !found || len(set) == 0 {
			continue
		}
		own = append(own, before...)
		split = append(split, own[len(own)-len(before):], set)
		encoded = after
	}
	own = append(own, encoded...)
	return append(split, own[len(own)-len(encoded):]), nil
}

// protobufList is a list in the shape that k8s.io/apimachinery encodes object by object.
type protobufList struct {
	metav1.TypeMeta
	metav1.ListMeta `protobuf:"bytes,1,opt,name=metadata"`
	Items           []protobufWebsite `protobuf:"bytes,2,rep,name=items"`
}

// DeepCopyObject is not called: the list is only encoded.
func (l *protobufList) DeepCopyObject() runtime.Object { return l }

// protobufWebsite is a Website in such a list.
type protobufWebsite struct {
	website *website.Website
	to      *converter
	// encoded is nil until the Website is encoded.
	encoded pieces
	size    int
}

// Size returns the measured size.
func (w *protobufWebsite) Size() int { return w.size }

// MarshalToSizedBuffer encodes the Website into b, a buffer of its size.
func (w *protobufWebsite) MarshalToSizedBuffer(b []byte) (int, error) {
	if w.encoded != nil {
		return len(w.encoded.appendTo(b[:0])), nil
	}
	converted, err := w.to.convert(w.website)
	if err != nil {
		return 0, err
	}
	return converted.MarshalToSizedBuffer(b)
}

// GetObjectKind returns no kind, as items of other lists.
func (w *protobufWebsite) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject is not called: the Website is only encoded.
func (w *protobufWebsite) DeepCopyObject() runtime.Object { return w }
