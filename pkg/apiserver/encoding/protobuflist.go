package encoding

import (
	"bytes"
	"encoding/binary"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// magic begins what Kubernetes encodes as protobuf. A runtime.Unknown follows, whose raw bytes are
// the object.
var magic = []byte("k8s\x00")

// The tags of the members of a list: their numbers, and that they have a length.
const (
	metadataTag = 1<<3 | 2
	itemsTag    = 2<<3 | 2
)

// protobufListEncoder encodes lists as protobuf.
type protobufListEncoder struct {
	runtime.EncoderWithAllocator
	lists
}

// Encode encodes all but lists with the encoder underneath.
func (e protobufListEncoder) Encode(object runtime.Object, w io.Writer) error {
	return e.EncodeWithAllocator(object, w, &runtime.SimpleAllocator{})
}

// EncodeWithAllocator is Encode. Lists need no memory from the allocator.
func (e protobufListEncoder) EncodeWithAllocator(object runtime.Object, w io.Writer,
	allocator runtime.MemoryAllocator) error {
	list, version, convert := e.of(object)
	if list == nil {
		return e.EncoderWithAllocator.EncodeWithAllocator(object, w, allocator)
	}
	return e.encodeList(list, version, convert, w)
}

// encodeList writes a list that is not empty. Its size precedes it, so each object is measured
// before the first is written. One that the cache does not keep is encoded only when it is written: together
// they may be as large as the store.
func (e protobufListEncoder) encodeList(list *website.WebsiteList, version schema.GroupVersion, convert converter,
	w io.Writer) error {
	meta, err := list.ListMeta.Marshal()
	if err != nil {
		return err
	}
	head := append(appendHeader(nil, metadataTag, len(meta)), meta...)
	total, sizes, kept := len(head), make([]int, len(list.Items)), make([]*encodedWebsite, len(list.Items))
	var buffer []byte
	for i := range list.Items {
		if kept[i], sizes[i], err = e.measure(&list.Items[i], format{version, runtime.ContentTypeProtobuf},
			convert); err != nil {
			return err
		}
		buffer = appendHeader(buffer[:0], itemsTag, sizes[i])
		total += len(buffer) + sizes[i]
	}

	if _, err := w.Write(magic); err != nil {
		return err
	}
	apiVersion, kind := version.WithKind("WebsiteList").ToAPIVersionAndKind()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}}
	_, err = unknown.MarshalToWriter(w, total, func(w io.Writer) (int, error) {
		written, err := w.Write(head)
		for i := 0; i < len(kept) && err == nil; i++ {
			buffer = appendHeader(buffer[:0], itemsTag, sizes[i])
			if kept[i] != nil {
				buffer = kept[i].appendTo(buffer)
			} else if buffer, err = appendEncoded(buffer, &list.Items[i], convert); err != nil {
				return written, err
			}
			var n int
			n, err = w.Write(buffer)
			written += n
		}
		return written, err
	})
	return err
}

// measure returns the size of an encoded Website, and the Website itself if the cache keeps it.
func (e protobufListEncoder) measure(w *website.Website, format format, convert converter) (kept *encodedWebsite,
	size int, err error) {
	if kept = e.cache.get(w, format); kept != nil {
		return kept, kept.size, nil
	}
	converted, managed, err := convert(w)
	if err != nil {
		return nil, 0, err
	}
	size = converted.Size()
	own, belongs := size, setsOf(w)
	for _, entry := range *managed {
		if set := entry.FieldsV1.GetRawBytes(); belongs(set) {
			own -= len(set)
		}
	}
	if !e.cache.hasRoom(w, own) {
		return nil, size, nil
	}
	raw, err := converted.Marshal()
	if err != nil {
		return nil, 0, err
	}
	return e.cache.add(w, format, separate(raw, *managed)), size, nil
}

// appendEncoded appends an encoded Website.
func appendEncoded(b []byte, w *website.Website, convert converter) ([]byte, error) {
	converted, _, err := convert(w)
	if err != nil {
		return b, err
	}
	raw, err := converted.Marshal()
	return append(b, raw...), err
}

// appendHeader appends what precedes a member of a list.
func appendHeader(b []byte, tag byte, size int) []byte {
	return binary.AppendUvarint(append(b, tag), uint64(size))
}

// separate moves all but the sets of fields to the front. If the same bytes precede a set, they are
// separated instead: put together, the result is the same.
func separate(raw []byte, managed []metav1.ManagedFieldsEntry) *encodedWebsite {
	encoded := &encodedWebsite{}
	end, read := 0, 0
	for _, entry := range managed {
		set := entry.FieldsV1.GetRawBytes()
		at := bytes.Index(raw[read:], set)
		if len(set) == 0 || at < 0 {
			continue
		}
		end += copy(raw[end:], raw[read:read+at])
		read += at + len(set)
		encoded.sets, encoded.offsets = append(encoded.sets, set), append(encoded.offsets, end)
	}
	end += copy(raw[end:], raw[read:])
	encoded.rest = raw[:end]
	return encoded
}
