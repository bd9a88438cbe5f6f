package encoding

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// maxYAML is the size of the largest object, as JSON, that is sent as other YAML.
const maxYAML = 64 << 10

// yamlSerializer encodes large objects as JSON, which is YAML as well: the serializer underneath makes YAML of
// parsed JSON, which takes a hundred times its size in memory.
type yamlSerializer struct {
	runtime.Serializer
	json runtime.Encoder
}

// Encode encodes the object twice if it is small.
func (s yamlSerializer) Encode(object runtime.Object, w io.Writer) error {
	var encoded bytes.Buffer
	if err := s.json.Encode(object, &encoded); err != nil {
		return err
	}
	if encoded.Len() <= maxYAML {
		return s.Serializer.Encode(object, w)
	}
	_, err := w.Write(encoded.Bytes())
	return err
}

// WithoutYAMLLists has lists, Tables and metadata encoded as JSON for clients that accept only YAML. To these it is
// YAML. Tables and metadata, also of one object, are encoded by k8s.io/apiserver, without the yamlSerializer.
func WithoutYAMLLists(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Blanks are ignored where the type is negotiated.
		accepted := strings.Join(strings.Fields(strings.Join(r.Header.Values("Accept"), ",")), "")
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !info.IsResourceRequest || !strings.Contains(accepted, runtime.ContentTypeYAML) ||
			!isTransformed(info.Verb, accepted) {
			handler.ServeHTTP(w, r)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set("Accept", strings.ReplaceAll(accepted, runtime.ContentTypeYAML, runtime.ContentTypeJSON))
		if !strings.Contains(accepted, runtime.ContentTypeJSON) {
			w = responsewriter.WrapForHTTP1Or2(&yamlWriter{w})
		}
		handler.ServeHTTP(w, r)
	})
}

// isTransformed reports whether the response is a list, a Table or metadata. Nothing is watched as YAML.
func isTransformed(verb, accepted string) bool {
	switch verb {
	case "list", "deletecollection":
		return true
	case "watch":
		return false
	default:
		return strings.Contains(accepted, ";as=")
	}
}

// yamlWriter says that JSON is YAML.
type yamlWriter struct{ http.ResponseWriter }

// Unwrap returns the writer underneath.
func (w *yamlWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader replaces the media type.
func (w *yamlWriter) WriteHeader(code int) {
	if header := w.Header(); header.Get("Content-Type") == runtime.ContentTypeJSON {
		header.Set("Content-Type", runtime.ContentTypeYAML)
	}
	w.ResponseWriter.WriteHeader(code)
}
