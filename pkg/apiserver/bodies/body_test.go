package bodies

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestShortBodies: the options of a deletion have short bodies, and webhooks of git servers any.
func TestShortBodies(t *testing.T) {
	const yaml = "application/yaml"
	options := "kind: DeleteOptions\napiVersion: v1\n"
	bomb := "a: &a " + strings.Repeat("x", 1000) + "\nb: [" + strings.Repeat("*a,", 10) + "*a]\n"
	long := options + strings.Repeat("#", minBytes)
	tests := map[string]struct {
		contentType, body string
		want              int
	}{
		"options":       {yaml, options, http.StatusOK},
		"none":          {"", "", http.StatusOK},
		"aliases":       {yaml, bomb, http.StatusBadRequest},
		"long":          {yaml, long, http.StatusRequestEntityTooLarge},
		"long, of JSON": {"application/json", long, http.StatusRequestEntityTooLarge},
	}
	for name, test := range tests {
		for _, info := range []request.RequestInfo{
			{Verb: "delete", Namespace: "full", Name: "small"}, {Verb: "deletecollection", Namespace: "full"},
			{Verb: "create", Namespace: "full", Name: "small", Subresource: "sync"},
		} {
			t.Run(name+"/"+info.Verb, func(t *testing.T) {
				t.Parallel()
				r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(test.body))
				r.Header.Set("Content-Type", test.contentType)
				l := newTestLimiter()
				var passed []byte
				got := serve(l, r, info, func(r *http.Request) { passed, _ = io.ReadAll(r.Body) })
				want := test.want
				if info.Subresource == "sync" {
					want = http.StatusOK
				}
				if got.Code != want {
					t.Errorf("code = %d %s, want %d", got.Code, got.Body, want)
				}
				if want == http.StatusOK && string(passed) != test.body {
					t.Errorf("the handler got %d bytes, want %d", len(passed), len(test.body))
				}
				requireReleased(t, l)
			})
		}
	}
}

// TestCostlyBodies: each write is checked, whatever its size.
func TestCostlyBodies(t *testing.T) {
	costly := `{"spec":{"storage":{"sizeLimit":"1e2147483646"}}}`
	moved := `[{"op":"\u0063opy","from":"/metadata/annotations/a","path":"/spec/storage/sizeLimit"}]`
	padding := `,"metadata":{"annotations":{"a":"` + strings.Repeat("x", minBytes) + `"}}}`
	tests := map[string]struct {
		contentType, body string
		want              int
	}{
		"small": {"", costly, http.StatusBadRequest},
		"large": {"", strings.TrimSuffix(costly, "}") + padding, http.StatusBadRequest},
		"large, and not so costly": {"", strings.Replace(strings.TrimSuffix(costly, "}")+padding, "1e2147483646", "1e9",
			1), http.StatusOK},
		"a JSON patch":          {"application/json-patch+json", moved, http.StatusBadRequest},
		"an unusual JSON patch": {"Application/JSON-patch+json ;x", moved, http.StatusBadRequest},
	}
	for name, test := range tests {
		for _, verb := range []string{"create", "update", "patch"} {
			t.Run(name+"/"+verb, func(t *testing.T) {
				t.Parallel()
				l := newTestLimiter()
				r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(test.body))
				r.Header.Set("Content-Type", test.contentType)
				got := serve(l, r, request.RequestInfo{Verb: verb, Namespace: "empty", Name: "small"}, func(*http.Request) {})
				if got.Code != test.want {
					t.Errorf("code = %d %s, want %d", got.Code, got.Body, test.want)
				}
				requireReleased(t, l)
			})
		}
	}
}
