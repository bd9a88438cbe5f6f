// Package responsebuffer sends lists and watches in large writes.
//
// Lists are encoded object by object, and the initial events of a watch event by event. Without a
// buffer, each is a write through all handlers, and becomes HTTP/2 frames, TLS records and system
// calls of its own, in this server and again in kube-apiserver, which proxies them.
package responsebuffer

import (
	"bufio"
	"net/http"
	"slices"
	"sync"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// bufferSize is the largest HTTP/2 frame that clients written in Go accept.
const bufferSize = 16 << 10

var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, bufferSize) }}

// WithBuffer buffers the output of handler for a list, until it is complete, and for a watch,
// until the handler flushes because there are no more events. No other request is buffered. The
// request info must be in the context.
func WithBuffer(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !info.IsResourceRequest || !slices.Contains([]string{"list", "watch"}, info.Verb) {
			handler.ServeHTTP(w, r)
			return
		}
		buffered := &responseWriter{ResponseWriter: w}
		// A watch needs the interfaces of a response in HTTP/1 and in HTTP/2, and a WebSocket
		// the connection.
		handler.ServeHTTP(responsewriter.WrapForHTTP1Or2(buffered), r)
		// The buffer is not sent after a panic: the client must not take the beginning of a
		// list for all of it. An error means that the client is gone.
		_ = buffered.send()
	})
}

// responseWriter buffers the body of a response.
type responseWriter struct {
	http.ResponseWriter
	// buffer is nil while nothing is buffered: most watches are idle.
	buffer *bufio.Writer
}

var _ http.Flusher = &responseWriter{}

// Write returns the error of an earlier write since the last Flush, if any.
func (w *responseWriter) Write(p []byte) (int, error) {
	if w.buffer == nil {
		w.buffer = buffers.Get().(*bufio.Writer)
		w.buffer.Reset(w.ResponseWriter)
	}
	return w.buffer.Write(p)
}

// Flush sends the buffered data.
func (w *responseWriter) Flush() {
	_ = w.send()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

// send writes the buffered data, and returns the buffer to its pool.
func (w *responseWriter) send() error {
	if w.buffer == nil {
		return nil
	}
	err := w.buffer.Flush()
	w.buffer.Reset(nil)
	buffers.Put(w.buffer)
	w.buffer = nil
	return err
}

// Unwrap makes the writer underneath available to an http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
