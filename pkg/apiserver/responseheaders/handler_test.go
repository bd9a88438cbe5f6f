package responseheaders

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
)

// server answers like k8s.io/apiserver: its filters set headers, and a handler sends a response.
func server(t *testing.T, cached string, send http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(WithoutRepeated(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{
			auditinternal.HeaderAuditID, flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID,
			flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID, "X-Content-Type-Options",
		} {
			w.Header().Set(name, "set")
		}
		w.Header().Set(cacheControl, cached)
		send(w, r)
	})))
	t.Cleanup(s.Close)
	return s
}

func TestWithoutRepeated(t *testing.T) {
	all := []string{"Audit-Id", "Cache-Control", "X-Content-Type-Options", "X-Kubernetes-Pf-Flowschema-Uid",
		"X-Kubernetes-Pf-Prioritylevel-Uid"}
	ours := []string{"X-Content-Type-Options"}
	write := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("body")) }
	for name, test := range map[string]struct {
		auditID, cached string
		send            http.HandlerFunc
		want            []string
	}{
		"from a client":       {"", uncached, write, all},
		"from kube-apiserver": {"id", uncached, write, ours},
		"a document that is cached": {"id", "public, immutable", write,
			[]string{"Cache-Control", "X-Content-Type-Options"}},
		"an error": {"id", uncached,
			func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) }, ours},
		"a watch, before its events": {"id", uncached,
			func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }, ours},
		"a response without anything": {"id", uncached,
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, ours},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t, test.cached, test.send)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.auditID != "" {
				request.Header.Set(auditinternal.HeaderAuditID, test.auditID)
			}
			got, err := s.Client().Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			var names []string
			for name := range got.Header {
				if slices.Contains(all, name) {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			if !slices.Equal(names, test.want) {
				t.Errorf("the response has %v, want %v", names, test.want)
			}
		})
	}
}

// TestHijack: the connection of a WebSocket can still be taken over.
func TestHijack(t *testing.T) {
	hijacked := make(chan bool, 1)
	s := server(t, uncached, func(w http.ResponseWriter, _ *http.Request) {
		_, ok := w.(http.Hijacker)
		hijacked <- ok
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(auditinternal.HeaderAuditID, "id")
	got, err := s.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = got.Body.Close()
	if !<-hijacked {
		t.Error("the response is no http.Hijacker")
	}
}
