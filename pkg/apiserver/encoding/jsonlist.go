package encoding

import (
	"bytes"
	"io"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// jsonListEncoder encodes lists as JSON.
type jsonListEncoder struct {
	// Encoder converts and encodes all other objects.
	runtime.Encoder
	lists
}

// Encode writes a list object by object.
func (e jsonListEncoder) Encode(object runtime.Object, w io.Writer) error {
	list, to := e.of(object)
	if list == nil {
		return e.Encoder.Encode(object, w)
	}
	empty := &website.WebsiteList{ListMeta: list.ListMeta, Items: []website.Website{}}
	return encodeItems(e.Encoder, empty, len(list.Items), w, func(out []byte, i int) ([]byte, error) {
		encoded, err := e.website(&list.Items[i], to, runtime.ContentTypeJSON, marshalJSON)
		return encoded.appendTo(out), err
	})
}

// end is the end of a list without items.
const end = "]}\n"

// encodeItems writes a list, given one that is empty, with n items. encode appends the i-th of them, and each is
// written at once.
func encodeItems(heads runtime.Encoder, empty runtime.Object, n int, w io.Writer,
	encode func(out []byte, i int) ([]byte, error)) error {
	var head bytes.Buffer
	if err := heads.Encode(empty, &head); err != nil {
		return err
	}
	begin := bytes.TrimSuffix(head.Bytes(), []byte(end))
	// A response that begins with a short write is compressed once it is large.
	for _, part := range [][]byte{begin[:1], begin[1:]} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	var out []byte
	for i := range n {
		var err error
		if out, err = encode(out[:0], i); err != nil {
			return err
		}
		if i < n-1 {
			out = append(out, ',')
		}
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	_, err := w.Write([]byte(end))
	return err
}
