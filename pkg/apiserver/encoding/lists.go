package encoding

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// kinds are the kinds of a list in the served versions.
var kinds = []schema.GroupVersionKind{
	v1beta1.SchemeGroupVersion.WithKind("WebsiteList"),
	v1alpha1.SchemeGroupVersion.WithKind("WebsiteList"),
}

// lists encodes Websites of the internal version in lists of a served one.
type lists struct {
	version runtime.GroupVersioner
	cache   *cache
}

// of returns the object as a list, and the converter of its Websites. It returns nil for objects that the encoder
// underneath encodes.
func (l lists) of(object runtime.Object) (*website.WebsiteList, *converter) {
	list, ok := object.(*website.WebsiteList)
	if !ok || len(list.Items) == 0 {
		return nil, nil
	}
	kind, ok := l.version.KindForGroupVersionKinds(kinds)
	if !ok {
		return nil, nil
	}
	return list, &converter{kind: kind}
}

// website returns the Website encoded by marshal, and keeps it for the next list. If marshal returns nil, so does
// website.
func (l lists) website(w *website.Website, to *converter, mediaType string,
	marshal func(versioned) (pieces, error)) (pieces, error) {
	format := format{to.kind.GroupVersion(), mediaType}
	if cached := l.cache.get(w, format); cached != nil {
		return cached, nil
	}
	converted, err := to.convert(w)
	if err != nil {
		return nil, err
	}
	encoded, err := marshal(converted)
	if err == nil && encoded != nil {
		l.cache.add(w, format, encoded)
	}
	return encoded, err
}

// versioned is a Website of a served version.
type versioned interface {
	metav1.Object
	// The generated methods for protobuf.
	Size() int
	Marshal() ([]byte, error)
	MarshalToSizedBuffer(b []byte) (int, error)
}

// converter converts the Websites of one list, into memory of its own.
type converter struct {
	// kind is the kind of the converted list.
	kind  schema.GroupVersionKind
	beta  v1beta1.Website
	alpha v1alpha1.Website
}

// convert returns a Website that is valid until the next call.
func (c *converter) convert(w *website.Website) (versioned, error) {
	if c.kind.Version == v1alpha1.SchemeGroupVersion.Version {
		c.alpha = v1alpha1.Website{}
		return &c.alpha, v1alpha1.Convert_website_Website_To_v1alpha1_Website(w, &c.alpha, nil)
	}
	c.beta = v1beta1.Website{}
	return &c.beta, website.Convert_website_Website_To_v1beta1_Website(w, &c.beta, nil)
}
