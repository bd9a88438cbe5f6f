package encoding

import (
	"bytes"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// end is the end of a list without objects.
const end = "]}\n"

// jsonListEncoder encodes lists as JSON.
type jsonListEncoder struct {
	runtime.Encoder
	lists
}

// Encode encodes all but lists with the encoder underneath.
func (e jsonListEncoder) Encode(object runtime.Object, w io.Writer) error {
	list, version, convert := e.of(object)
	if list == nil {
		return e.Encoder.Encode(object, w)
	}
	return e.encodeList(list, version, convert, w)
}

// encodeList writes a list that is not empty, each object at once.
func (e jsonListEncoder) encodeList(list *website.WebsiteList, version schema.GroupVersion, convert converter,
	w io.Writer) error {
	empty := &website.WebsiteList{ListMeta: list.ListMeta, Items: []website.Website{}}
	return encodeItems(e.Encoder, empty, len(list.Items), w, func(websites *encoder, i int) error {
		encoded, err := e.website(&list.Items[i], format{version, runtime.ContentTypeJSON}, convert,
			func(w versioned, managed *[]metav1.ManagedFieldsEntry) (*encodedWebsite, error) {
				return websites.encode(w, managed)
			})
		if err == nil {
			websites.out = encoded.appendTo(websites.out[:0])
		}
		return err
	})
}

// encodeItems writes a list, given one that is empty, with n items. encode puts the i-th of them into the output of
// the encoder, and each is written at once.
func encodeItems(heads runtime.Encoder, empty runtime.Object, n int, w io.Writer,
	encode func(e *encoder, i int) error) error {
	var head bytes.Buffer
	if err := heads.Encode(empty, &head); err != nil {
		return err
	}
	begin := bytes.TrimSuffix(head.Bytes(), []byte(end))
	// What begins with a short write is compressed if all of it is large.
	for _, part := range [][]byte{begin[:1], begin[1:]} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	items := newEncoder()
	defer items.release()
	for i := range n {
		if err := encode(items, i); err != nil {
			return err
		}
		if i < n-1 {
			items.out = append(items.out, ',')
		}
		if _, err := w.Write(items.out); err != nil {
			return err
		}
	}
	_, err := w.Write([]byte(end))
	return err
}
