package encoding

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1beta1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

// WithTables has lists of Websites as Tables made by their storage and encoded in this package, row by row:
// k8s.io/apiserver encodes Tables as a whole, with codecs that are its own. What it refuses, Tables with whole
// objects, and requests that accept anything but JSON, are left to it. The media types are those of the server.
func WithTables(handler http.Handler, codecs runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if table, ok := tableRequested(r, codecs); ok {
			r = r.Clone(registry.WithTableRequest(r.Context(), table.TableRequest))
			r.Header.Set("Accept", table.accept)
		}
		handler.ServeHTTP(w, r)
	})
}

// requestedTable is a request for a Table, and for the list that is encoded as one.
type requestedTable struct {
	registry.TableRequest
	accept string
}

// tableRequested returns false if the response is no Table, or k8s.io/apiserver is to make it.
func tableRequested(r *http.Request, codecs runtime.NegotiatedSerializer) (requestedTable, bool) {
	var table requestedTable
	info, ok := request.RequestInfoFrom(r.Context())
	if !ok || !info.IsResourceRequest || info.Verb != "list" || info.APIGroup != website.GroupName ||
		info.Resource != "websites" || info.Subresource != "" {
		return table, false
	}
	header := r.Header.Get("Accept")
	for clause := range strings.SplitSeq(header, ",") {
		if mediaType, _, _ := strings.Cut(clause, ";"); strings.TrimSpace(mediaType) != runtime.ContentTypeJSON {
			return table, false
		}
	}
	accepted, ok := negotiation.NegotiateMediaTypeOptions(header, codecs.SupportedMediaTypes(), tables{})
	if !ok || accepted.Convert == nil || accepted.Convert.Kind != "Table" {
		return table, false
	}
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(r.URL.Query(), metav1.SchemeGroupVersion,
		&table.Options); err != nil ||
		len(validation.ValidateTableOptions(&table.Options)) > 0 || table.Options.IncludeObject == metav1.IncludeObject {
		return table, false
	}
	table.Version, table.accept = accepted.Convert.GroupVersion(), runtime.ContentTypeJSON
	if accepted.Pretty {
		table.accept += ";pretty=1"
	}
	return table, true
}

// tables allows what k8s.io/apiserver allows at an endpoint with a TableConvertor.
type tables struct {
	negotiation.EndpointRestrictions
}

// AllowsMediaTypeTransform allows objects as they are, as metadata, and as a Table.
func (tables) AllowsMediaTypeTransform(mimeType, mimeSubType string, target *schema.GroupVersionKind) bool {
	if target == nil {
		return true
	}
	if version := target.GroupVersion(); version != metav1.SchemeGroupVersion &&
		version != metav1beta1.SchemeGroupVersion {
		return false
	}
	switch target.Kind {
	case "Table":
		return mimeType == "application" && (mimeSubType == "json" || mimeSubType == "yaml")
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return true
	default:
		return false
	}
}

// AllowsServerVersion allows that of metadata.
func (tables) AllowsServerVersion(version string) bool {
	return version == metav1.SchemeGroupVersion.Version
}

// AllowsStreamSchema allows watches.
func (tables) AllowsStreamSchema(schema string) bool { return schema == "watch" }

// tableEncoder encodes Tables of Websites, which need no conversion.
type tableEncoder struct {
	// Encoder encodes all else, and converts it.
	runtime.Encoder
	// json encodes what is converted. It may indent.
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
	return encodeItems(e.json, head, table.Len(), w, func(rows *encoder, i int) error {
		table.Row(i, &row)
		return rows.encodeRow(&row)
	})
}

// encodeRow puts a row into the output.
func (e *encoder) encodeRow(row *registry.Row) error {
	e.buffer.Reset()
	if err := e.values.Encode(row); err != nil {
		return err
	}
	e.out = append(e.out[:0], bytes.TrimSuffix(e.buffer.Bytes(), []byte("\n"))...)
	return nil
}
