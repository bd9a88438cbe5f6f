package encoding

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestYAML: large objects are encoded as JSON, and small ones as YAML by the wrapped serializer.
func TestYAML(t *testing.T) {
	stock, ours := newSerializers(t)
	for name, annotation := range map[string]string{"small": "x", "large": strings.Repeat("x", maxYAML)} {
		t.Run(name, func(t *testing.T) {
			w := newServed(1)
			w.Annotations = map[string]string{"a": annotation}
			var want, got bytes.Buffer
			if err := encoderFor(t, stock, runtime.ContentTypeYAML, v1beta1.SchemeGroupVersion).Encode(&w, &want); err != nil {
				t.Fatal(err)
			}
			if err := encoderFor(t, ours, runtime.ContentTypeYAML, v1beta1.SchemeGroupVersion).Encode(&w, &got); err != nil {
				t.Fatal(err)
			}
			if isJSON := json.Valid(got.Bytes()); isJSON != (name == "large") {
				t.Errorf("it is JSON: %t", isJSON)
			}
			wantJSON, err := yaml.YAMLToJSON(want.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			gotJSON, err := yaml.YAMLToJSON(got.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(gotJSON, wantJSON) {
				t.Errorf("got %s, want %s", gotJSON, wantJSON)
			}
		})
	}
}

func TestWithoutYAMLLists(t *testing.T) {
	tests := map[string]struct {
		verb, accept         string
		wantAccept, wantType string
	}{
		"list": {"list", "application/yaml", "application/json", "application/yaml"},
		"Table": {"list", "application/yaml;as=Table;g=meta.k8s.io;v=v1",
			"application/json;as=Table;g=meta.k8s.io;v=v1", "application/yaml"},
		"list, of either": {"list", "application/yaml, application/json;q=0.9",
			"application/json,application/json;q=0.9", "application/json"},
		"list, with a blank": {"list", "application/ yaml", "application/json", "application/yaml"},
		"deleted":            {"deletecollection", "application/yaml", "application/json", "application/yaml"},
		"Table of one": {"get", "application/yaml;as=Table;g=meta.k8s.io;v=v1",
			"application/json;as=Table;g=meta.k8s.io;v=v1", "application/yaml"},
		"metadata of one, a blank": {"patch", "application/yaml; as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
			"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/yaml"},
		"watch": {"watch", "application/yaml;as=Table;g=meta.k8s.io;v=v1",
			"application/yaml;as=Table;g=meta.k8s.io;v=v1", "application/json"},
		"list of another type":     {"list", "application/json", "application/json", "application/json"},
		"what is no list":          {"get", "application/yaml", "application/yaml", "application/json"},
		"list of whatever is sent": {"list", "*/*", "*/*", "application/json"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var accepted string
			handler := WithoutYAMLLists(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				accepted = r.Header.Get("Accept")
				w.Header().Set("Content-Type", runtime.ContentTypeJSON)
				w.WriteHeader(http.StatusOK)
			}))
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Accept", test.accept)
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(
				recorder, r.WithContext(
					request.WithRequestInfo(r.Context(), &request.RequestInfo{IsResourceRequest: true, Verb: test.verb}),
				),
			)
			if accepted != test.wantAccept || recorder.Header().Get("Content-Type") != test.wantType {
				t.Errorf("accepted %q, sent as %q; want %q, %q", accepted, recorder.Header().Get("Content-Type"), test.wantAccept,
					test.wantType)
			}
		})
	}
}
