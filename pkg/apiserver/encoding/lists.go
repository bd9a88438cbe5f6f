package encoding

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// encodedWebsite is a Website without its sets of fields, and these. Its parts are not changed.
type encodedWebsite struct {
	// rest is the encoded Website without the sets. JSON has no line feed at the end.
	rest []byte
	// offsets are where the sets are missing in rest.
	sets    [][]byte
	offsets []int
	// size is that of the encoded Website. It is set of those in the cache.
	size int
}

// appendTo appends the encoded Website.
func (e *encodedWebsite) appendTo(b []byte) []byte {
	begin := 0
	for i, set := range e.sets {
		b = append(b, e.rest[begin:e.offsets[i]]...)
		b = append(b, set...)
		begin = e.offsets[i]
	}
	return append(b, e.rest[begin:]...)
}

// versioned is a Website of a served version.
type versioned interface {
	// Marshal encodes it as protobuf, and Size is how many bytes that takes.
	Marshal() ([]byte, error)
	Size() int
}

// converter returns a Website in another version, and its managed fields. It is valid until the
// next one.
type converter func(*website.Website) (versioned, *[]metav1.ManagedFieldsEntry, error)

// kinds are those of a list in the served versions.
var kinds = []schema.GroupVersionKind{
	v1beta1.SchemeGroupVersion.WithKind("WebsiteList"),
	v1alpha1.SchemeGroupVersion.WithKind("WebsiteList"),
}

// converters are those to the served versions, for one list each.
var converters = map[schema.GroupVersion]func() converter{
	v1beta1.SchemeGroupVersion: func() converter {
		var converted v1beta1.Website
		return func(w *website.Website) (versioned, *[]metav1.ManagedFieldsEntry, error) {
			converted = v1beta1.Website{}
			return &converted, &converted.ManagedFields, v1beta1.Convert_website_Website_To_v1beta1_Website(w, &converted, nil)
		}
	},
	v1alpha1.SchemeGroupVersion: func() converter {
		var converted v1alpha1.Website
		return func(w *website.Website) (versioned, *[]metav1.ManagedFieldsEntry, error) {
			converted = v1alpha1.Website{}
			return &converted, &converted.ManagedFields, v1alpha1.Convert_website_Website_To_v1alpha1_Website(w, &converted, nil)
		}
	},
}

// lists are those of Websites of the internal version, encoded in a served one.
type lists struct {
	version runtime.GroupVersioner
	cache   *cache
}

// of returns the list that the object is, its version and how to convert its Websites, or nil if
// the encoder underneath has to encode the object.
func (l lists) of(object runtime.Object) (*website.WebsiteList, schema.GroupVersion, converter) {
	list, ok := object.(*website.WebsiteList)
	if !ok || len(list.Items) == 0 {
		return nil, schema.GroupVersion{}, nil
	}
	kind, _ := l.version.KindForGroupVersionKinds(kinds)
	newConverter := converters[kind.GroupVersion()]
	if newConverter == nil {
		return nil, schema.GroupVersion{}, nil
	}
	return list, kind.GroupVersion(), newConverter()
}

// website returns the encoded Website, from the cache if that has it.
func (l lists) website(w *website.Website, format format, convert converter,
	encode func(versioned, *[]metav1.ManagedFieldsEntry) (*encodedWebsite, error)) (*encodedWebsite, error) {
	if known := l.cache.get(w, format); known != nil {
		return known, nil
	}
	converted, managed, err := convert(w)
	if err != nil {
		return nil, err
	}
	encoded, err := encode(converted, managed)
	if err != nil {
		return nil, err
	}
	l.cache.add(w, format, encoded)
	return encoded, nil
}
