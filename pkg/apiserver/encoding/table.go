package encoding

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1beta1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// WithTables has lists of Websites as Tables made by their storage and encoded in this package, row by row:
// k8s.io/apiserver encodes Tables as a whole, with codecs that are its own. It does so for requests that are not as
// kubectl sends them: with a quality, with whole objects, or for something else if it cannot be had.
func WithTables(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if table, accept := tableRequested(r); accept != "" {
			r = r.Clone(registry.WithTableRequest(r.Context(), table))
			r.Header.Set("Accept", accept)
		}
		handler.ServeHTTP(w, r)
	})
}

// tableRequested returns the request for a Table and the media type of its encoding, which is empty if k8s.io/apiserver
// makes the response.
func tableRequested(r *http.Request) (table registry.TableRequest, accept string) {
	info, ok := request.RequestInfoFrom(r.Context())
	if !ok || !info.IsResourceRequest || info.Verb != "list" || info.APIGroup != website.GroupName ||
		info.Resource != "websites" || info.Subresource != "" {
		return table, ""
	}
	// The first type is preferred.
	var first map[string]string
	for clause := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		mediaType, parameters, err := mime.ParseMediaType(clause)
		if err != nil || mediaType != runtime.ContentTypeJSON || parameters["q"] != "" || parameters["sv"] != "" {
			return table, ""
		}
		if first == nil {
			first = parameters
		}
	}
	table.Version = schema.GroupVersion{Group: first["g"], Version: first["v"]}
	if first["as"] != "Table" || !slices.Contains(tableVersions, table.Version) {
		return table, ""
	}
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(r.URL.Query(), metav1.SchemeGroupVersion,
		&table.Options); err != nil ||
		len(validation.ValidateTableOptions(&table.Options)) > 0 || table.Options.IncludeObject == metav1.IncludeObject {
		return table, ""
	}
	if first["pretty"] == "1" {
		return table, runtime.ContentTypeJSON + ";pretty=1"
	}
	return table, runtime.ContentTypeJSON
}

// tableVersions are the versions of a Table.
var tableVersions = []schema.GroupVersion{metav1.SchemeGroupVersion, metav1beta1.SchemeGroupVersion}

// tableEncoder encodes Tables of Websites, which need no conversion.
type tableEncoder struct {
	// Encoder converts and encodes all other objects.
	runtime.Encoder
	// json encodes without conversion. It may indent.
	json runtime.Encoder
}

// Encode writes a Table row by row, unless it is indented.
func (e tableEncoder) Encode(object runtime.Object, w io.Writer) error {
	table, ok := object.(*registry.Table)
	if !ok {
		return e.Encoder.Encode(object, w)
	}
	head := table.Head()
	var row registry.Row
	if _, compact := e.json.(jsonSerializer); !compact {
		for i := range table.Len() {
			table.Row(i, &row)
			head.Rows = append(head.Rows, row.TableRow())
		}
		return e.json.Encode(head, w)
	}
	var buffer bytes.Buffer
	rows := json.NewEncoder(&buffer)
	return encodeItems(e.json, head, table.Len(), w, func(out []byte, i int) ([]byte, error) {
		table.Row(i, &row)
		buffer.Reset()
		err := rows.Encode(&row)
		return append(out, bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))...), err
	})
}
