// Package bufferedlists sends the responses of lists in large writes.
//
// Lists are encoded object by object. Without a buffer, each object is a write through all
// handlers, and becomes HTTP/2 frames, TLS records and system calls of its own, in this server
// and again in kube-apiserver, which proxies them.
package bufferedlists

import (
	"bufio"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// bufferSize is the largest HTTP/2 frame that clients written in Go accept.
const bufferSize = 16 << 10

var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, bufferSize) }}

// WithBuffer buffers what handler writes for a list, and no other request. The request info must
// be in the context.
func WithBuffer(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !info.IsResourceRequest || info.Verb != "list" {
			handler.ServeHTTP(w, r)
			return
		}
		buffer := buffers.Get().(*bufio.Writer)
		buffer.Reset(w)
		handler.ServeHTTP(&responseWriter{ResponseWriter: w, buffer: buffer}, r)
		// Not after a panic: the client must not take the beginning of a list for all of it. An
		// error means that the client is gone.
		_ = buffer.Flush()
		buffer.Reset(nil)
		buffers.Put(buffer)
	})
}

// responseWriter buffers the body of a response.
type responseWriter struct {
	http.ResponseWriter
	buffer *bufio.Writer
}

var _ http.Flusher = &responseWriter{}

// Write returns the error of a former write, if there was one.
func (w *responseWriter) Write(p []byte) (int, error) { return w.buffer.Write(p) }

// Flush sends what is buffered.
func (w *responseWriter) Flush() {
	_ = w.buffer.Flush()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap makes the writer underneath available to an http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
