package api

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubesites/website-apiserver/test/framework"
)

// newHTTP1Client returns a client of HTTP/1.1, as many are that send Expect.
func newHTTP1Client(t *testing.T, config *rest.Config) *http.Client {
	t.Helper()
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig,
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestFailuresAreNever200: kube-apiserver takes a forwarded 100 for the status of the response.
func TestFailuresAreNever200(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	framework.MustCreate(t, framework.NewWebsite(namespace, "kubia"))
	config := framework.AdminConfig(t)
	client := newHTTP1Client(t, config)
	tests := map[string]struct {
		method, path, contentType, body string
		want                            int
	}{
		"create": {http.MethodPost, "", runtime.ContentTypeJSON, `{}`, http.StatusUnprocessableEntity},
		"patch": {http.MethodPatch, "/kubia", string(types.MergePatchType), `{"spec":{"replicas":-1}}`,
			http.StatusUnprocessableEntity},
		"sync":     {http.MethodPost, "/none/sync", runtime.ContentTypeJSON, `{}`, http.StatusNotFound},
		"rollback": {http.MethodPost, "/kubia/rollback", runtime.ContentTypeJSON, `{}`, http.StatusUnprocessableEntity},
	}
	for name, test := range tests {
		for expect, want := range map[string]int{"": test.want, "100-continue": http.StatusExpectationFailed} {
			t.Run(name+"/"+expect, func(t *testing.T) {
				r, err := http.NewRequestWithContext(t.Context(), test.method,
					config.Host+websitesPath("v1beta1", namespace, test.path), strings.NewReader(test.body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", test.contentType)
				if expect != "" {
					r.Header.Set("Expect", expect)
				}
				response, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				body, err := io.ReadAll(response.Body)
				if response.StatusCode != want || err != nil || !strings.Contains(string(body), `"status":"Failure"`) {
					t.Errorf("response = %s %s (%v), want %d", response.Status, body, err, want)
				}
			})
		}
	}
}
