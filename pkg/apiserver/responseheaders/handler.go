// Package responseheaders leaves out response headers that kube-apiserver sends as well.
//
// kube-apiserver adds the headers of a response that it proxies to those that its own filters have
// set. Filters of k8s.io/apiserver set the same ones in both servers, so clients would get them twice.
package responseheaders

import (
	"net/http"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

const (
	cacheControl = "Cache-Control"
	// uncached is the value that filters.WithCacheControl sets. Handlers replace it for documents that
	// clients may cache.
	uncached = "no-cache, private"
)

// WithoutRepeated removes the headers that kube-apiserver adds itself from responses to the
// requests that it proxies. These requests carry an audit ID. The handler must be outside of the
// filter of timeouts, which copies the headers of outer filters.
func WithoutRepeated(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(auditinternal.HeaderAuditID) != "" {
			w = responsewriter.WrapForHTTP1Or2(&responseWriter{ResponseWriter: w})
		}
		handler.ServeHTTP(w, r)
	})
}

// responseWriter leaves headers out before it sends them.
type responseWriter struct {
	http.ResponseWriter
	sent bool
}

var _ http.Flusher = &responseWriter{}

func (w *responseWriter) removeHeaders() {
	if w.sent {
		return
	}
	w.sent = true
	header := w.Header()
	header.Del(auditinternal.HeaderAuditID)
	header.Del(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)
	header.Del(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID)
	if header.Get(cacheControl) == uncached {
		header.Del(cacheControl)
	}
}

// WriteHeader sends the headers.
func (w *responseWriter) WriteHeader(code int) {
	w.removeHeaders()
	w.ResponseWriter.WriteHeader(code)
}

// Write sends the headers, if they are not sent yet, and a part of the body.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.removeHeaders()
	return w.ResponseWriter.Write(p) //nolint:wrapcheck // A response returns errors unchanged.
}

// Flush sends the headers, if they are not sent yet, and the buffered data.
func (w *responseWriter) Flush() {
	w.removeHeaders()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap makes the writer underneath available to an http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
