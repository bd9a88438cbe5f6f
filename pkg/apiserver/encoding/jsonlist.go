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
func (e jsonListEncoder) encodeList(list *website.WebsiteList, version schema.GroupVersion, convert converter, w io.Writer) error {
	var head bytes.Buffer
	if err := e.Encoder.Encode(&website.WebsiteList{ListMeta: list.ListMeta, Items: []website.Website{}}, &head); err != nil {
		return err
	}
	begin := bytes.TrimSuffix(head.Bytes(), []byte(end))
	// What begins with a short write is compressed if all of it is large.
	for _, part := range [][]byte{begin[:1], begin[1:]} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	websites := newEncoder()
	defer websites.release()
	encode := func(w versioned, managed *[]metav1.ManagedFieldsEntry) (*encodedWebsite, error) {
		return websites.encode(w, managed)
	}
	for i := range list.Items {
		encoded, err := e.website(&list.Items[i], format{version, runtime.ContentTypeJSON}, convert, encode)
		if err != nil {
			return err
		}
		websites.out = encoded.appendTo(websites.out[:0])
		if i < len(list.Items)-1 {
			websites.out = append(websites.out, ',')
		}
		if _, err := w.Write(websites.out); err != nil {
			return err
		}
	}
	_, err := w.Write([]byte(end))
	return err
}
