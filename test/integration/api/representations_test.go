package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/generated/clientset/versioned"
	"github.com/kubesites/website-apiserver/test/framework"
)

// response is the cluster's response to a request.
type response struct {
	code        int
	contentType string
	header      http.Header
	body        []byte
}

func (r response) warnings() []string { return r.header.Values("Warning") }

// request sends a request to the cluster as the administrator. Headers are given as pairs.
func request(t *testing.T, method, path, body string, headers ...string) response {
	t.Helper()
	answer := send(t, method, path, body, headers...)
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{code: answer.StatusCode, contentType: answer.Header.Get("Content-Type"),
		header: answer.Header, body: data}
}

// send is request without reading the body, which is closed when the test ends.
func send(t *testing.T, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	config := framework.AdminConfig(t)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, config.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func websitesPath(version, namespace, rest string) string {
	return fmt.Sprintf("/apis/mycontroller.nevermosby.io/%s/namespaces/%s/websites%s", version, namespace, rest)
}

// TestContentNegotiation requests the representations that clients use.
func TestContentNegotiation(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed))
	const (
		protobuf = "application/vnd.kubernetes.protobuf"
		partial  = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		partials = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
		table    = ";as=Table;g=meta.k8s.io;v=v1"
	)
	envelope := []byte("k8s\x00")
	tests := map[string]struct {
		path, accept string
		wantType     string
		// wantBody is the beginning or a part of the body.
		wantBody []byte
	}{
		"JSON": {path: "/kubia", accept: "application/json", wantType: "application/json",
			wantBody: []byte(`"kind":"Website"`)},
		"YAML": {path: "/kubia", accept: "application/yaml", wantType: "application/yaml",
			wantBody: []byte("kind: Website\n")},
		"protobuf":            {path: "/kubia", accept: protobuf, wantType: protobuf, wantBody: envelope},
		"protobuf of a list":  {accept: protobuf, wantType: protobuf, wantBody: envelope},
		"protobuf of a scale": {path: "/kubia/scale", accept: protobuf, wantType: protobuf, wantBody: envelope},
		"any type": {path: "/kubia", accept: "*/*", wantType: "application/json",
			wantBody: []byte(`"kind":"Website"`)},
		"the first that is known": {path: "/kubia", accept: "text/html, " + protobuf + ", application/json",
			wantType: protobuf, wantBody: envelope},
		"metadata alone": {path: "/kubia", accept: "application/json" + partial, wantType: "application/json",
			wantBody: []byte(`"kind":"PartialObjectMetadata"`)},
		"metadata alone, in protobuf": {path: "/kubia", accept: protobuf + partial, wantType: protobuf,
			wantBody: envelope},
		"metadata of a list": {accept: "application/json" + partials, wantType: "application/json",
			wantBody: []byte(`"kind":"PartialObjectMetadataList"`)},
		"metadata of a list in protobuf": {accept: protobuf + partials, wantType: protobuf, wantBody: envelope},
		"table": {path: "/kubia", accept: "application/json" + table, wantType: "application/json",
			wantBody: []byte(`"kind":"Table"`)},
		"table of a list": {accept: "application/json" + table, wantType: "application/json",
			wantBody: []byte(`"kind":"Table"`)},
		"table of a scale": {path: "/kubia/scale", accept: "application/json" + table,
			wantType: "application/json", wantBody: []byte(`"kind":"Table"`)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, version := range []string{"v1alpha1", "v1beta1"} {
				got := request(t, http.MethodGet, websitesPath(version, namespace, test.path), "", "Accept", test.accept)
				if got.code != http.StatusOK || !strings.HasPrefix(got.contentType, test.wantType) ||
					!bytes.Contains(got.body, test.wantBody) {
					t.Errorf("%s: answer = %d, %s\n%q\nwant %s with %q", version, got.code, got.contentType, got.body, test.wantType,
						test.wantBody)
				}
				if bytes.Equal(test.wantBody, envelope) && !bytes.HasPrefix(got.body, envelope) {
					t.Errorf("%s: body begins with %q, want Kubernetes' protobuf envelope", version, got.body[:min(len(got.body), 8)])
				}
				if strings.Contains(test.accept, "PartialObjectMetadata") &&
					bytes.Contains(got.body, []byte("example.com/site.git")) {
					t.Errorf("%s: more than metadata: %q", version, got.body)
				}
			}
		})
	}
	for name, accept := range map[string]string{
		"HTML alone": "text/html",
		// CBOR is a feature gate of the API server, off by default as in Kubernetes.
		"CBOR alone": "application/cbor",
	} {
		t.Run(name, func(t *testing.T) {
			if got := request(t, http.MethodGet, websitesPath("v1beta1", namespace, "/kubia"), "", "Accept",
				accept); got.code != http.StatusNotAcceptable {
				t.Errorf("answer = %d %s, want 406", got.code, got.body)
			}
		})
	}
}

// TestTables reads the columns as clients of every version get them.
func TestTables(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed))
	framework.WaitSettled(t, namespace, "kubia")
	tests := map[string]struct {
		include string
		object  string
	}{
		"metadata by default": {object: `"kind":"PartialObjectMetadata"`},
		"whole objects":       {include: "?includeObject=Object", object: `"kind":"Website"`},
		"rows alone":          {include: "?includeObject=None", object: "null"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var rows [][]any
			for _, version := range []string{"v1alpha1", "v1beta1"} {
				got := request(t, http.MethodGet, websitesPath(version, namespace, test.include), "", "Accept",
					"application/json;as=Table;g=meta.k8s.io;v=v1")
				table := metav1.Table{}
				if err := json.Unmarshal(got.body, &table); err != nil {
					t.Fatal(err)
				}
				if len(table.Rows) != 1 || len(table.Rows[0].Cells) != len(table.ColumnDefinitions) {
					t.Fatalf("%s: rows = %v, want one with %d cells", version, table.Rows, len(table.ColumnDefinitions))
				}
				if object := string(table.Rows[0].Object.Raw); !strings.Contains(object, test.object) &&
					(object != "" || test.object != "null") {
					t.Errorf("%s: object of the row = %s, want %s", version, object, test.object)
				}
				// The ages are left out, as they increase, together with the cells between them.
				rows = append(rows, slices.Delete(table.Rows[0].Cells, 4, 7))
			}
			if fmt.Sprint(rows[0]) != fmt.Sprint(rows[1]) {
				t.Errorf("v1alpha1 shows %v, v1beta1 %v", rows[0], rows[1])
			}
		})
	}
}

// TestListsAsTable compares lists, which are encoded row by row, with k8s.io/apiserver's tables of
// single Websites.
func TestListsAsTable(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	names := []string{"site-a", "site-b", "site-c"}
	for _, name := range names {
		framework.MustCreate(t, framework.NewWebsite(namespace, name, framework.Detailed))
	}
	for _, name := range names {
		framework.WaitSettled(t, namespace, name)
	}
	table := func(t *testing.T, path, accept string) metav1.Table {
		t.Helper()
		got := request(t, http.MethodGet, path, "", "Accept", accept)
		table := metav1.Table{}
		if err := json.Unmarshal(got.body, &table); err != nil || got.code != http.StatusOK ||
			got.contentType != "application/json" || table.Kind != "Table" {
			t.Fatalf("%s is %d %s %s (%v)", path, got.code, got.contentType, got.body, err)
		}
		return table
	}
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		for _, accept := range []string{"application/json;as=Table;g=meta.k8s.io;v=v1",
			"application/json;as=Table;g=meta.k8s.io;v=v1beta1", "application/json;as=Table;g=meta.k8s.io;v=v1;pretty=1"} {
			t.Run(version+" "+accept, func(t *testing.T) {
				list := table(t, websitesPath(version, namespace, ""), accept)
				if len(list.Rows) != len(names) || list.ResourceVersion == "" {
					t.Fatalf("the Table has %d rows and the resourceVersion %q, want %d and any", len(list.Rows),
						list.ResourceVersion, len(names))
				}
				for i, name := range names {
					one := table(t, websitesPath(version, namespace, "/"+name), accept)
					got, want := list.Rows[i], one.Rows[0]
					if !reflect.DeepEqual(list.ColumnDefinitions, one.ColumnDefinitions) || list.APIVersion != one.APIVersion ||
						compact(t, got.Object.Raw) != compact(t, want.Object.Raw) {
						t.Errorf("the list has %+v with %s, the Website %+v with %s", list.TypeMeta, got.Object.Raw, one.TypeMeta,
							want.Object.Raw)
					}
					// The ages are left out, as they increase, together with the cells between them.
					if got, want := fmt.Sprint(slices.Delete(got.Cells, 4, 7)),
						fmt.Sprint(slices.Delete(want.Cells, 4, 7)); got != want {
						t.Errorf("the list shows %s, the Website %s", got, want)
					}
				}
				page := table(t, websitesPath(version, namespace, "?limit=2"), accept)
				next := table(t, websitesPath(version, namespace, "?limit=2&continue="+url.QueryEscape(page.Continue)), accept)
				if len(page.Rows) != 2 || ptr.Deref(page.RemainingItemCount, 0) != 1 || len(next.Rows) != 1 ||
					next.Rows[0].Cells[0] != "site-c" || next.Continue != "" {
					t.Errorf("pages have the rows %v with %+v, and %v with %+v", page.Rows, page.ListMeta, next.Rows, next.ListMeta)
				}
				none := request(t, http.MethodGet, websitesPath(version, namespace, "?labelSelector=no=one"), "", "Accept", accept)
				if !strings.HasSuffix(compact(t, none.body), `"rows":[]}`) {
					t.Errorf("a Table without Websites is %s", none.body)
				}
				refused := request(t, http.MethodGet, websitesPath(version, namespace, "?fieldSelector=spec.no=1"), "",
					"Accept", accept)
				if refused.code != http.StatusBadRequest || !strings.Contains(string(refused.body), `"Status"`) {
					t.Errorf("an unknown field selects %d %s, want a Status", refused.code, refused.body)
				}
			})
		}
	}
}

// compact returns JSON without white space.
func compact(t *testing.T, data []byte) string {
	t.Helper()
	var compacted bytes.Buffer
	if err := json.Compact(&compacted, data); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return compacted.String()
}

// TestMetadataClient reads and watches metadata alone, as garbage collection and
// namespace deletion do.
func TestMetadataClient(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	config := framework.Cluster.AdminConfig()
	client, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	websites := client.Resource(v1beta1.SchemeGroupVersion.WithResource("websites")).Namespace(namespace)
	watcher, err := websites.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	created := framework.MustCreate(t, framework.NewWebsite(namespace, "kubia", framework.Detailed))
	if got, ok := framework.NextEvent(t, watcher).Object.(*metav1.PartialObjectMetadata); !ok || got.UID != created.UID {
		t.Errorf("watched %+v, want the metadata of kubia", got)
	}
	list, err := websites.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].UID != created.UID {
		t.Errorf("list = %+v (%v), want the metadata of kubia", list, err)
	}
}

// recorder records the headers of the requests that pass it.
type recorder struct {
	http.RoundTripper
	headers []http.Header
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.headers = append(r.headers, request.Header.Clone())
	return r.RoundTripper.RoundTrip(request)
}

// TestClientsetPrefersProtobuf makes a clientset from a configuration without encodings.
func TestClientsetPrefersProtobuf(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	config := framework.Cluster.AdminConfig()
	sent := &recorder{}
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper {
		sent.RoundTripper = transport
		return sent
	})
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.WebsiteV1beta1().Websites(namespace).Create(t.Context(),
		framework.NewWebsite(namespace, "kubia", framework.Detailed), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, header := range sent.headers {
		if header.Get("Content-Type") != "application/vnd.kubernetes.protobuf" ||
			!strings.HasPrefix(header.Get("Accept"), "application/vnd.kubernetes.protobuf") {
			t.Errorf("headers = %v, want protobuf sent and preferred", header)
		}
	}
	if len(sent.headers) == 0 {
		t.Error("no request was seen")
	}
}
