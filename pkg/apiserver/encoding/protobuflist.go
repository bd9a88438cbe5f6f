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
func (e protobufListEncoder) EncodeWithAllocator(object runtime.Object, w io.Writer, allocator runtime.MemoryAllocator) error {
	list, version, convert := e.of(object)
	if list == nil {
		return e.EncoderWithAllocator.EncodeWithAllocator(object, w, allocator)
	}
	return e.encodeList(list, version, convert, w)
}

// encodeList writes a list that is not empty. Its size precedes it, so all objects are encoded
// before the first is written.
func (e protobufListEncoder) encodeList(list *website.WebsiteList, version schema.GroupVersion, convert converter, w io.Writer) error {
	meta, err := list.ListMeta.Marshal()
	if err != nil {
		return err
	}
	head := append(appendHeader(nil, metadataTag, len(meta)), meta...)
	size, encoded := len(head), make([]*encodedWebsite, len(list.Items))
	var header []byte
	for i := range list.Items {
		if encoded[i], err = e.website(&list.Items[i], format{version, runtime.ContentTypeProtobuf}, convert, e.encode); err != nil {
			return err
		}
		n := encoded[i].size()
		header = appendHeader(header[:0], itemsTag, n)
		size += len(header) + n
	}

	if _, err := w.Write(magic); err != nil {
		return err
	}
	apiVersion, kind := version.WithKind("WebsiteList").ToAPIVersionAndKind()
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}}
	_, err = unknown.MarshalToWriter(w, size, func(w io.Writer) (int, error) {
		written, err := w.Write(head)
		for i := 0; i < len(encoded) && err == nil; i++ {
			var n int
			header = encoded[i].appendTo(appendHeader(header[:0], itemsTag, encoded[i].size()))
			n, err = w.Write(header)
			written += n
		}
		return written, err
	})
	return err
}

// appendHeader appends what precedes a member of a list.
func appendHeader(b []byte, tag byte, size int) []byte {
	return binary.AppendUvarint(append(b, tag), uint64(size))
}

// encode encodes a Website, and separates its sets of fields if the cache may keep the rest.
func (e protobufListEncoder) encode(w versioned, managed *[]metav1.ManagedFieldsEntry) (*encodedWebsite, error) {
	raw, err := w.Marshal()
	if err != nil || !e.cache.hasRoom(len(raw)) {
		return &encodedWebsite{rest: raw}, err
	}
	return separate(raw, *managed), nil
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
