package responsebuffer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// counter is a response that counts writes.
type counter struct {
	*httptest.ResponseRecorder
	writes int
	err    error
}

func (c *counter) Write(p []byte) (int, error) {
	c.writes++
	if c.err != nil {
		return 0, c.err
	}
	return c.ResponseRecorder.Write(p)
}

const objects, objectSize = 100, 1000

var object = bytes.Repeat([]byte("x"), objectSize)

// serve makes handler answer a request.
func serve(t *testing.T, info *request.RequestInfo, err error, handler http.HandlerFunc) *counter {
	t.Helper()
	w := &counter{ResponseRecorder: httptest.NewRecorder(), err: err}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if info != nil {
		r = r.WithContext(request.WithRequestInfo(r.Context(), info))
	}
	WithBuffer(handler).ServeHTTP(w, r)
	return w
}

func list() *request.RequestInfo { return &request.RequestInfo{IsResourceRequest: true, Verb: "list"} }

func watch() *request.RequestInfo {
	return &request.RequestInfo{IsResourceRequest: true, Verb: "watch"}
}

func writeObjects(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	for range objects {
		_, _ = w.Write(object)
	}
}

func TestWhatIsBuffered(t *testing.T) {
	const buffered = (objects*objectSize + bufferSize - 1) / bufferSize
	tests := map[string]struct {
		info   *request.RequestInfo
		writes int
	}{
		"a list":             {info: list(), writes: buffered},
		"a watch":            {info: watch(), writes: buffered},
		"a single object":    {info: &request.RequestInfo{IsResourceRequest: true, Verb: "get"}, writes: objects},
		"a path":             {info: &request.RequestInfo{Verb: "list"}, writes: objects},
		"an unknown request": {writes: objects},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := serve(t, test.info, nil, writeObjects)
			if w.writes != test.writes {
				t.Errorf("%d writes, want %d", w.writes, test.writes)
			}
			if w.Code != http.StatusAccepted || !bytes.Equal(w.Body.Bytes(), bytes.Repeat(object, objects)) {
				t.Errorf("status %d with %d bytes, want %d with %d", w.Code, w.Body.Len(), http.StatusAccepted, objects*objectSize)
			}
		})
	}
}

func TestFlush(t *testing.T) {
	serve(t, watch(), nil, func(w http.ResponseWriter, _ *http.Request) {
		underneath := w.(*responseWriter).Unwrap().(*counter)
		for i := range 2 {
			_, _ = w.Write(object)
			if underneath.writes != i {
				t.Error("nothing is buffered")
			}
			w.(http.Flusher).Flush()
			if underneath.writes != i+1 || !underneath.Flushed {
				t.Errorf("%d writes, flushed %t, want %d", underneath.writes, underneath.Flushed, i+1)
			}
			if w.(*responseWriter).buffer != nil {
				t.Error("a watch without events keeps its buffer")
			}
		}
	})
}

// TestInterfaces: the handlers of apiserver need the interfaces of a response in each protocol.
func TestInterfaces(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				WithBuffer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if _, ok := w.(responsewriter.CloseNotifierFlusher); !ok {
						t.Errorf("%T is no CloseNotifierFlusher", w)
					}
					if _, ok := w.(http.Hijacker); ok == http2 {
						t.Errorf("%T is a Hijacker: %t", w, ok)
					}
				})).ServeHTTP(w, r.WithContext(request.WithRequestInfo(r.Context(), watch())))
			}))
			server.EnableHTTP2 = http2
			server.StartTLS()
			defer server.Close()
			response, err := server.Client().Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
		})
	}
}

func TestErrorIsReturned(t *testing.T) {
	gone := errors.New("the client is gone")
	serve(t, list(), gone, func(w http.ResponseWriter, _ *http.Request) {
		var err error
		for range objects {
			_, err = w.Write(object)
		}
		if !errors.Is(err, gone) {
			t.Errorf("error = %v, want %v", err, gone)
		}
	})
}

// TestPanicSendsNoMore: data that a panic leaves in the buffer is not sent, also not to
// another client.
func TestPanicSendsNoMore(t *testing.T) {
	var w *counter
	func() {
		defer func() { _ = recover() }()
		serve(t, list(), nil, func(underneath http.ResponseWriter, _ *http.Request) {
			w = underneath.(*responseWriter).ResponseWriter.(*counter)
			_, _ = underneath.Write([]byte("secret"))
			panic(http.ErrAbortHandler)
		})
	}()
	if w.writes != 0 {
		t.Errorf("%q was sent", w.Body)
	}
	next := serve(t, list(), nil, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "next") })
	if next.Body.String() != "next" {
		t.Errorf("the next client got %q", next.Body)
	}
}

// BenchmarkList sends 2,000 objects over HTTP/2, to a client in the same process.
func BenchmarkList(b *testing.B) {
	encoded := bytes.Repeat([]byte("x"), 3700)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 2000 {
			_, _ = w.Write(encoded)
		}
	})
	withInfo := func(handler http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handler.ServeHTTP(w, r.WithContext(request.WithRequestInfo(r.Context(), list())))
		})
	}
	for name, handler := range map[string]http.Handler{"unbuffered": handler, "buffered": WithBuffer(handler)} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewUnstartedServer(withInfo(handler))
			server.EnableHTTP2 = true
			server.StartTLS()
			defer server.Close()
			for b.Loop() {
				response, err := server.Client().Get(server.URL)
				if err != nil {
					b.Fatal(err)
				}
				if n, err := io.Copy(io.Discard, response.Body); err != nil || n != int64(2000*len(encoded)) {
					b.Fatal(n, err)
				}
				_ = response.Body.Close()
			}
		})
	}
}
