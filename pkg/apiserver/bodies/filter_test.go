package bodies

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
)

// write sends a write through a limiter whose namespace "full" has used its budget.
func write(t *testing.T, verb, namespace, name, subresource string, length int64) *httptest.ResponseRecorder {
	t.Helper()
	l := newTestLimiter()
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
	r.ContentLength = length
	recorder := serve(l, r, request.RequestInfo{Verb: verb, Namespace: namespace, Name: name, Subresource: subresource},
		func(*http.Request) {})
	requireReleased(t, l)
	return recorder
}

// requireReleased checks that nothing is counted any more.
func requireReleased(t *testing.T, l *Limiter) {
	t.Helper()
	if processing(l) != 0 || len(l.budget.processed) > 0 {
		t.Error("the write is still counted as processed")
	}
}

// processing returns how many bytes are counted as processed.
func processing(l *Limiter) int64 {
	l.budget.mu.Lock()
	defer l.budget.mu.Unlock()
	return l.budget.processing
}

// newTestLimiter returns one whose namespace "full" has used its budget.
func newTestLimiter() *Limiter {
	l := NewLimiter()
	l.patience = 10 * time.Millisecond
	l.Size = func(_ context.Context, _, name string) int64 {
		if name == "large" {
			return validation.MaxBytes / 2
		}
		return minBytes - 1
	}
	exhaust(l.budget, "full")
	return l
}

// serve sends a request through a limiter.
func serve(l *Limiter, r *http.Request, info request.RequestInfo,
	handle func(*http.Request)) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	serveTo(recorder, l, r, info, func(_ http.ResponseWriter, r *http.Request) { handle(r) })
	return recorder
}

// serveTo sends a request through a limiter, and its response to a writer.
func serveTo(w http.ResponseWriter, l *Limiter, r *http.Request, info request.RequestInfo, handle http.HandlerFunc) {
	handler := l.WithLimit(handle, serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion())
	info.IsResourceRequest, info.APIGroup, info.APIVersion, info.Resource = true, website.GroupName, "v1beta1", "websites"
	handler.ServeHTTP(w, r.WithContext(request.WithRequestInfo(r.Context(), &info)))
}

func TestWithLimit(t *testing.T) {
	tests := map[string]struct {
		verb, namespace, name string
		subresource           string
		length                int64
		want                  int
	}{
		"small": {verb: "patch", namespace: "full", name: "small", length: 100,
			want: http.StatusOK},
		"small creation": {verb: "create", namespace: "full", length: minBytes - 1, want: http.StatusOK},
		"large creation": {verb: "create", namespace: "full", length: minBytes,
			want: http.StatusTooManyRequests},
		"small, of unknown length": {verb: "create", namespace: "full", length: -1,
			want: http.StatusTooManyRequests},
		"small patch of a large Website": {verb: "patch", namespace: "full", name: "large", length: 10,
			want: http.StatusTooManyRequests},
		"large update of a small Website": {verb: "update", namespace: "full", name: "small", length: 100 << 10,
			want: http.StatusTooManyRequests},
		"rollback of a large Website": {verb: "create", namespace: "full", name: "large", subresource: "rollback",
			length: 10, want: http.StatusTooManyRequests},
		"sync of a large Website": {verb: "create", namespace: "full", name: "large", subresource: "sync",
			length: 3 << 20, want: http.StatusOK},
		"longer than a Website may be": {verb: "create", namespace: "other", length: 3 << 20, want: http.StatusOK},
		"large, in another namespace": {verb: "update", namespace: "other", name: "large", length: 100,
			want: http.StatusOK},
		"deletion of a large Website":         {verb: "delete", namespace: "full", name: "large", want: http.StatusOK},
		"a large one of all, by a collection": {verb: "deletecollection", namespace: "full", want: http.StatusOK},
		"reading a large Website":             {verb: "get", namespace: "full", name: "large", want: http.StatusOK},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := write(t, test.verb, test.namespace, test.name, test.subresource, test.length)
			if got.Code != test.want {
				t.Errorf("code = %d %s, want %d", got.Code, got.Body, test.want)
			}
			if rejected := got.Code == http.StatusTooManyRequests; rejected != (got.Header().Get("Retry-After") != "") {
				t.Errorf("code %d with Retry-After %q", got.Code, got.Header().Get("Retry-After"))
			}
		})
	}
}

// TestUnknownLength: a body that does not end before it is large counts as the largest, and is passed as a whole.
func TestUnknownLength(t *testing.T) {
	for namespace, want := range map[string]int{"full": http.StatusTooManyRequests, "other": http.StatusOK} {
		body := `{"a":"` + strings.Repeat("x", minBytes) + `"}`
		r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader(body)))
		l := newTestLimiter()
		got := serve(l, r, request.RequestInfo{Verb: "create", Namespace: namespace}, func(r *http.Request) {
			if read, err := io.ReadAll(r.Body); err != nil || string(read) != body {
				t.Errorf("read %d bytes, %v, want %d", len(read), err, len(body))
			}
		})
		if r.ContentLength != -1 || got.Code != want {
			t.Errorf("namespace %q: code %d for the length %d, want %d", namespace, got.Code, r.ContentLength, want)
		}
		requireReleased(t, l)
	}
}

// TestSlowBody: a client that does not send its body holds up no other.
func TestSlowBody(t *testing.T) {
	l := newTestLimiter()
	slow, send := io.Pipe()
	update := func(namespace string, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPut, "/", body)
		r.ContentLength = validation.MaxBytes
		return serve(l, r, request.RequestInfo{Verb: "update", Namespace: namespace, Name: "large"}, func(*http.Request) {})
	}
	ended := make(chan int)
	go func() { ended <- update("slow", slow).Code }()
	if _, err := send.Write([]byte("{")); err != nil { // It is being read.
		t.Fatal(err)
	}
	if got := update("other", strings.NewReader("{}")); got.Code != http.StatusOK {
		t.Errorf("a write in another namespace: %d %s", got.Code, got.Body)
	}
	if got := update("slow", strings.NewReader("{}")); got.Code != http.StatusOK {
		t.Errorf("a write in the same namespace: %d %s", got.Code, got.Body)
	}
	send.CloseWithError(errors.New("the client is gone"))
	if code := <-ended; code != http.StatusBadRequest {
		t.Errorf("the slow write: %d", code)
	}
	if got := update("slow", strings.NewReader("{}")); got.Code != http.StatusOK {
		t.Errorf("afterwards: %d %s", got.Code, got.Body)
	}
	if got := update(
		"other", strings.NewReader(strings.Repeat(" ", MaxBytes+1)),
	); got.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is too long: %d %s", got.Code, got.Body)
	}
}

// TestSlowReader: a client that does not read its response keeps no other from writing.
func TestSlowReader(t *testing.T) {
	l := newTestLimiter()
	responds, ended := make(chan struct{}), make(chan struct{})
	r := httptest.NewRequest(http.MethodPut, "/", strings.NewReader("{}"))
	stuck := &stuckWriter{httptest.NewRecorder(), responds, ended}
	done := make(chan struct{})
	go func() {
		defer close(done)
		serveTo(stuck, l, r, request.RequestInfo{Verb: "update", Namespace: "slow", Name: "large"},
			func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	}()
	select {
	case <-responds:
	case <-time.After(time.Minute):
		t.Fatal("there is no response")
	}
	if processing(l) != 0 {
		t.Error("a response that is not read keeps others from writing")
	}
	close(ended)
	<-done
	requireReleased(t, l)
}

// stuckWriter writes to a client that does not read.
type stuckWriter struct {
	*httptest.ResponseRecorder
	responds, ended chan struct{}
}

func (w *stuckWriter) Write(data []byte) (int, error) {
	close(w.responds)
	<-w.ended
	return w.ResponseRecorder.Write(data)
}

// TestSlowWrites: a namespace whose writes are processed slowly holds up no other.
func TestSlowWrites(t *testing.T) {
	l := newTestLimiter()
	update := func(namespace string, handle func(*http.Request)) int {
		r := httptest.NewRequest(http.MethodPut, "/", strings.NewReader("{}"))
		r.ContentLength = validation.MaxBytes
		return serve(l, r, request.RequestInfo{Verb: "update", Namespace: namespace, Name: "large"}, handle).Code
	}
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan int)
	go func() {
		ended <- update("slow", func(*http.Request) { close(begun); <-end })
	}()
	<-begun
	if code := update("slow", func(*http.Request) {}); code != http.StatusTooManyRequests {
		t.Errorf("another write of the namespace: %d, want 429", code)
	}
	if code := update("other", func(*http.Request) {}); code != http.StatusOK {
		t.Errorf("a write of another namespace: %d, want 200", code)
	}
	close(end)
	if code := <-ended; code != http.StatusOK {
		t.Errorf("the slow write: %d, want 200", code)
	}
	requireReleased(t, l)
}

// TestEndOfTurns: a write that the client has abandoned still counts as processed, for a while.
func TestEndOfTurns(t *testing.T) {
	l := newTestLimiter()
	l.abandonedTurn = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodPut, "/", strings.NewReader("{}"))
	serve(l, r, request.RequestInfo{Verb: "update", Namespace: "other", Name: "large"}, func(*http.Request) { cancel() })
	if processing(l) == 0 {
		t.Error("a write that the client has abandoned is not counted while it is processed")
	}
}
