package websitejson

import (
	"bytes"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// converter returns a Website in another version, and its managed fields. It is valid until the
// next one.
type converter func(*website.Website) (any, *[]metav1.ManagedFieldsEntry, error)

// kinds are those of a list in the served versions.
var kinds = []schema.GroupVersionKind{
	v1beta1.SchemeGroupVersion.WithKind("WebsiteList"),
	v1alpha1.SchemeGroupVersion.WithKind("WebsiteList"),
}

// converters are those to the served versions, for one list each.
var converters = map[schema.GroupVersion]func() converter{
	v1beta1.SchemeGroupVersion: func() converter {
		var converted v1beta1.Website
		return func(w *website.Website) (any, *[]metav1.ManagedFieldsEntry, error) {
			converted = v1beta1.Website{}
			return &converted, &converted.ManagedFields, v1beta1.Convert_website_Website_To_v1beta1_Website(w, &converted, nil)
		}
	},
	v1alpha1.SchemeGroupVersion: func() converter {
		var converted v1alpha1.Website
		return func(w *website.Website) (any, *[]metav1.ManagedFieldsEntry, error) {
			converted = v1alpha1.Website{}
			return &converted, &converted.ManagedFields, v1alpha1.Convert_website_Website_To_v1alpha1_Website(w, &converted, nil)
		}
	},
}

// end is the end of a list without objects.
const end = "]}\n"

// encodeList writes a list that is not empty, each object at once.
func (e listEncoder) encodeList(list *website.WebsiteList, version schema.GroupVersion, convert converter, w io.Writer) error {
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
	for i := range list.Items {
		encoded, err := e.website(&list.Items[i], version, convert, websites)
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

// website encodes a Website of the internal version, unless it is in the cache.
func (e listEncoder) website(w *website.Website, version schema.GroupVersion, convert converter, websites *encoder) (*encodedWebsite, error) {
	if known := e.cache.get(w, version); known != nil {
		return known, nil
	}
	converted, managed, err := convert(w)
	if err != nil {
		return nil, err
	}
	encoded, err := websites.encode(converted, managed)
	if err != nil {
		return nil, err
	}
	e.cache.add(w, version, encoded)
	return encoded, nil
}
