package encoding

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	registry "github.com/kubesites/website-apiserver/pkg/registry/website"
)

var printer = registry.NewTableConvertor(testingclock.NewFakePassiveClock(time.Unix(1800000000, 0)))

// newTable returns a list as a Table.
func newTable(list *website.WebsiteList, request registry.TableRequest) runtime.Object {
	return printer.AsRequested(registry.WithTableRequest(context.Background(), request), list)
}

// stockTable returns the table that k8s.io/apiserver makes of a list.
func stockTable(t *testing.T, list *website.WebsiteList, request registry.TableRequest) *metav1.Table {
	t.Helper()
	table, err := printer.ConvertToTable(t.Context(), list, &request.Options)
	if err != nil {
		t.Fatal(err)
	}
	for i := range table.Rows {
		object := &table.Rows[i].Object
		bookmark, err := storage.HasInitialEventsEndBookmarkAnnotation(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		if request.Options.IncludeObject == metav1.IncludeNone && !bookmark {
			object.Object = nil
			continue
		}
		object.Object.GetObjectKind().SetGroupVersionKind(request.Version.WithKind("PartialObjectMetadata"))
	}
	return table
}

// TestTables compares with the encoder of k8s.io/apiserver, for random Websites.
func TestTables(t *testing.T) {
	_, ours := newSerializers(t)
	info, _ := runtime.SerializerInfoForMediaType(ours.SupportedMediaTypes(), runtime.ContentTypeJSON)
	asMeta, _ := runtime.SerializerInfoForMediaType(metainternalversionscheme.Codecs.SupportedMediaTypes(),
		runtime.ContentTypeJSON)
	next := newFuzzed(t)
	marked := next()
	marked.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	for range 50 {
		for name, list := range map[string]*website.WebsiteList{
			"empty": {ListMeta: metav1.ListMeta{ResourceVersion: "1"}},
			"page": {ListMeta: metav1.ListMeta{ResourceVersion: "1", Continue: "<next>", RemainingItemCount: ptr.To[int64](7)},
				Items: []website.Website{next(), marked, next()}},
		} {
			for _, version := range []schema.GroupVersion{metav1.SchemeGroupVersion, metav1beta1.SchemeGroupVersion} {
				for _, include := range []metav1.IncludeObjectPolicy{"", metav1.IncludeMetadata, metav1.IncludeNone} {
					request := registry.TableRequest{Version: version, Options: metav1.TableOptions{IncludeObject: include}}
					for style, encoders := range map[string][2]runtime.Encoder{
						"compact":  {asMeta.Serializer, info.Serializer},
						"indented": {asMeta.PrettySerializer, info.PrettySerializer},
					} {
						want := encoded(metainternalversionscheme.Codecs.EncoderForVersion(encoders[0], version),
							stockTable(t, list, request))
						got := encoded(ours.EncoderForVersion(encoders[1], v1beta1.SchemeGroupVersion), newTable(list, request))
						if got != want {
							t.Fatalf("%s as %s, %s, with %q is\n%q, want\n%q", name, version, style, include, got, want)
						}
					}
				}
			}
		}
	}
}

// TestTableIsWrittenInRows: the first byte does not wait for the last row.
func TestTableIsWrittenInRows(t *testing.T) {
	_, ours := newSerializers(t)
	const objects = 10
	rows := &writes{}
	table := newTable(newServedList(objects), registry.TableRequest{Version: metav1.SchemeGroupVersion})
	if err := encoderFor(t, ours, runtime.ContentTypeJSON, v1beta1.SchemeGroupVersion).Encode(table, rows); err != nil {
		t.Fatal(err)
	}
	if rows.first != "{" || len(rows.sizes) != objects+3 {
		t.Errorf("a Table of %d takes %d writes and begins with %q, want one for each row, and %q", objects, len(rows.sizes),
			rows.first, "{")
	}
}

func TestWithTables(t *testing.T) {
	const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
	websites := request.RequestInfo{IsResourceRequest: true, Verb: "list", APIGroup: website.GroupName,
		Resource: "websites"}
	with := func(tweak func(*request.RequestInfo)) request.RequestInfo {
		info := websites
		tweak(&info)
		return info
	}
	tests := map[string]struct {
		info   request.RequestInfo
		accept string
		query  url.Values
		// want is the type that is accepted inside, if it is not the one outside.
		want string
	}{
		"kubectl": {info: websites,
			accept: asTable + ",application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", want: "application/json"},
		"the former version": {info: websites, accept: "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
			want: "application/json"},
		"indented":         {info: websites, accept: asTable + ";pretty=1", want: "application/json;pretty=1"},
		"a server version": {info: websites, accept: asTable + ";sv=v1"},
		"with blanks": {info: websites, accept: " application/json; as=Table; v=v1; g=meta.k8s.io, application/json ",
			want: "application/json"},
		"less than a list":           {info: websites, accept: asTable + ";q=0.5,application/json"},
		"a list of a server version": {info: websites, accept: "application/json;sv=v1," + asTable},
		"or protobuf":                {info: websites, accept: asTable + ",application/vnd.kubernetes.protobuf"},
		"or anything":                {info: websites, accept: asTable + ",*/*;q=0.1"},
		"any type as Table":          {info: websites, accept: "application/*;as=Table;v=v1;g=meta.k8s.io"},
		"without objects": {info: websites, accept: asTable, query: url.Values{"includeObject": {"None"}},
			want: "application/json"},
		"with whole objects":      {info: websites, accept: asTable, query: url.Values{"includeObject": {"Object"}}},
		"with an unknown policy":  {info: websites, accept: asTable, query: url.Values{"includeObject": {"Everything"}}},
		"a list":                  {info: websites, accept: "application/json"},
		"a list, or else a Table": {info: websites, accept: "application/json," + asTable},
		"metadata": {info: websites,
			accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
		"as YAML": {info: websites, accept: "application/yaml;as=Table;v=v1;g=meta.k8s.io"},
		"as protobuf is not possible": {info: websites,
			accept: "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io"},
		"of an unknown version": {info: websites, accept: "application/json;as=Table;v=v2;g=meta.k8s.io"},
		"not acceptable":        {info: websites, accept: "text/plain"},
		"a watch":               {info: with(func(info *request.RequestInfo) { info.Verb = "watch" }), accept: asTable},
		"one Website": {info: with(func(info *request.RequestInfo) { info.Verb, info.Name = "get", "kubia" }),
			accept: asTable},
		"a subresource": {info: with(func(info *request.RequestInfo) { info.Subresource = "status" }),
			accept: asTable},
		"another resource": {info: with(func(info *request.RequestInfo) { info.APIGroup = "apps" }),
			accept: asTable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			list := newServedList(1)
			var accepted string
			var listed runtime.Object
			handler := WithTables(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				accepted, listed = r.Header.Get("Accept"), printer.AsRequested(r.Context(), list)
			}))
			r := httptest.NewRequest(http.MethodGet, "/?"+test.query.Encode(), nil)
			r.Header.Set("Accept", test.accept)
			handler.ServeHTTP(httptest.NewRecorder(), r.WithContext(request.WithRequestInfo(r.Context(), &test.info)))
			want := test.want
			if want == "" {
				want = test.accept
			}
			if _, isTable := listed.(*registry.Table); isTable != (test.want != "") || accepted != want {
				t.Errorf("accepted %q, and listed a %T; want %q", accepted, listed, want)
			}
			if r.Header.Get("Accept") != test.accept {
				t.Errorf("the request was changed to accept %q", r.Header.Get("Accept"))
			}
		})
	}
}

// BenchmarkTable compares with the encoder of k8s.io/apiserver, for 10,000 rows.
func BenchmarkTable(b *testing.B) {
	list := newServedList(10_000)
	request := registry.TableRequest{Version: metav1.SchemeGroupVersion}
	_, ours := newSerializers(b)
	encoder := encoderFor(b, ours, runtime.ContentTypeJSON, v1beta1.SchemeGroupVersion)
	b.Run("encoding", func(b *testing.B) {
		for b.Loop() {
			if err := encoder.Encode(newTable(list, request), &firstWrite{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("apiserver", func(b *testing.B) {
		for b.Loop() {
			table, err := printer.ConvertToTable(b.Context(), list, &request.Options)
			if err != nil {
				b.Fatal(err)
			}
			var w bytes.Buffer
			if err := json.NewEncoder(&w).Encode(table); err != nil {
				b.Fatal(err)
			}
		}
	})
}
