package largewrites

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestAliases: a document is not larger than its length says.
func TestAliases(t *testing.T) {
	const apply = "application/apply-patch+yaml"
	anchor := "a: &a " + strings.Repeat("x", 1000) + "\n"
	bomb := anchor + "b: [" + strings.Repeat("*a,", 10) + "*a]\n"
	tests := map[string]struct {
		contentType, body string
		want              int
	}{
		"none":                     {apply, anchor, http.StatusOK},
		"few":                      {apply, anchor + "b: [*a, *a]\n", http.StatusOK},
		"many":                     {apply, bomb, http.StatusRequestEntityTooLarge},
		"of aliases":               {apply, anchor + "b: &b [*a,*a,*a]\nc: [*b,*b,*b]\n", http.StatusRequestEntityTooLarge},
		"merged":                   {apply, "a: &a {b: " + strings.Repeat("x", 5000) + "}\nc: {<<: *a}\n", http.StatusRequestEntityTooLarge},
		"of itself":                {apply, "a: &a [*a]\n", http.StatusRequestEntityTooLarge},
		"in a large document":      {apply, "b: [" + strings.Repeat("x,", minBytes) + "x]\n" + "c: &c y\nd: *c\n", http.StatusRequestEntityTooLarge},
		"in a creation":            {"application/yaml; charset=utf-8", bomb, http.StatusRequestEntityTooLarge},
		"only characters, in JSON": {apply, `{"a":"https://example.com/?a&b","c":"*"}`, http.StatusOK},
		"only characters, broken":  {apply, "a: &\nb: *\n", http.StatusBadRequest},
		"of another kind":          {"application/merge-patch+json", bomb, http.StatusOK},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodPatch, "/", strings.NewReader(test.body))
			r.Header.Set("Content-Type", test.contentType)
			l := newTestLimiter()
			got := serve(l, r, request.RequestInfo{Verb: "patch", Namespace: "empty", Name: "small"}, func(*http.Request) {})
			if got.Code != test.want {
				t.Errorf("code = %d %s, want %d", got.Code, got.Body, test.want)
			}
			requireReleased(t, l)
		})
	}
}

// TestOptionsAsYAML: requests without a Website hold short YAML only.
func TestOptionsAsYAML(t *testing.T) {
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
		"aliases":       {yaml, bomb, http.StatusRequestEntityTooLarge},
		"long":          {yaml, long, http.StatusRequestEntityTooLarge},
		"long, of JSON": {"application/json", long, http.StatusOK},
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
				if got.Code != test.want {
					t.Errorf("code = %d %s, want %d", got.Code, got.Body, test.want)
				}
				if test.want == http.StatusOK && string(passed) != test.body {
					t.Errorf("the handler got %d bytes, want %d", len(passed), len(test.body))
				}
				requireReleased(t, l)
			})
		}
	}
}
