package expectations

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

func TestWithoutContinue(t *testing.T) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	for name, isHTTP2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		server := httptest.NewUnstartedServer(WithoutContinue(echo, serializer.NewCodecFactory(scheme)))
		server.EnableHTTP2 = isHTTP2
		server.StartTLS()
		defer server.Close()
		tests := map[string]struct {
			expect, body string
			code         int
			want         string
		}{
			"expects 100":            {"100-continue", "a body", http.StatusExpectationFailed, `"reason":"ExpectationFailed"`},
			"expects 100 of no body": {"100-continue", "", http.StatusExpectationFailed, `"reason":"ExpectationFailed"`},
			"expects nothing":        {"", "a body", http.StatusOK, "a body"},
			"expects nothing, empty": {"", "", http.StatusOK, ""},
		}
		for what, test := range tests {
			t.Run(name+"/"+what, func(t *testing.T) {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(test.body))
				if err != nil {
					t.Fatal(err)
				}
				if test.expect != "" {
					r.Header.Set("Expect", test.expect)
				}
				response, err := server.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				got, err := io.ReadAll(response.Body)
				if response.ProtoAtLeast(2, 0) != isHTTP2 {
					t.Errorf("the protocol is %s", response.Proto)
				}
				if err != nil || response.StatusCode != test.code || !strings.Contains(string(got), test.want) {
					t.Errorf("response = %d %s (%v), want %d with %q", response.StatusCode, got, err, test.code, test.want)
				}
			})
		}
	}
}
