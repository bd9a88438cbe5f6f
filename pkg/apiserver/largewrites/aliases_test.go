package largewrites

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

// TestAliases: a document is not larger than its length says.
func TestAliases(t *testing.T) {
	const apply = "application/apply-patch+yaml"
	anchor := "a: &a " + strings.Repeat("x", 1000) + "\n"
	tests := map[string]struct {
		contentType, body string
		want              int
	}{
		"none":                     {apply, anchor, http.StatusOK},
		"few":                      {apply, anchor + "b: [*a, *a]\n", http.StatusOK},
		"many":                     {apply, anchor + "b: [" + strings.Repeat("*a,", 10) + "*a]\n", http.StatusRequestEntityTooLarge},
		"of aliases":               {apply, anchor + "b: &b [*a,*a,*a]\nc: [*b,*b,*b]\n", http.StatusRequestEntityTooLarge},
		"merged":                   {apply, "a: &a {b: " + strings.Repeat("x", 5000) + "}\nc: {<<: *a}\n", http.StatusRequestEntityTooLarge},
		"of itself":                {apply, "a: &a [*a]\n", http.StatusRequestEntityTooLarge},
		"in a large document":      {apply, "b: [" + strings.Repeat("x,", minBytes) + "x]\n" + "c: &c y\nd: *c\n", http.StatusRequestEntityTooLarge},
		"in a creation":            {"application/yaml; charset=utf-8", anchor + "b: [" + strings.Repeat("*a,", 10) + "*a]\n", http.StatusRequestEntityTooLarge},
		"only characters, in JSON": {apply, `{"a":"https://example.com/?a&b","c":"*"}`, http.StatusOK},
		"only characters, broken":  {apply, "a: &\nb: *\n", http.StatusBadRequest},
		"of another kind":          {"application/merge-patch+json", anchor + "b: [" + strings.Repeat("*a,", 10) + "*a]\n", http.StatusOK},
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
			if !l.inFlight.TryAcquire(inFlightBytes) || len(l.bodies.byNamespace) > 0 {
				t.Error("the write is still counted")
			}
		})
	}
}

// TestSlowReader: a client that does not read its response keeps no other from writing.
func TestSlowReader(t *testing.T) {
	l := newTestLimiter()
	responds, ended := make(chan struct{}), make(chan struct{})
	handler := l.WithLimit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }),
		serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion())
	r := httptest.NewRequest(http.MethodPut, "/", strings.NewReader("{}"))
	info := &request.RequestInfo{IsResourceRequest: true, Verb: "update", APIGroup: website.GroupName, APIVersion: "v1beta1", Resource: "websites", Namespace: "slow", Name: "large"}
	stuck := &stuckWriter{httptest.NewRecorder(), responds, ended}
	done := make(chan struct{})
	go func() {
		defer close(done)
		handler.ServeHTTP(stuck, r.WithContext(request.WithRequestInfo(r.Context(), info)))
	}()
	select {
	case <-responds:
	case <-time.After(time.Minute):
		t.Fatal("there is no response")
	}
	if !l.inFlight.TryAcquire(inFlightBytes) {
		t.Error("a response that is not read keeps others from writing")
	} else {
		l.inFlight.Release(inFlightBytes)
	}
	close(ended)
	<-done
	if !l.inFlight.TryAcquire(inFlightBytes) || len(l.bodies.byNamespace) > 0 {
		t.Error("the write is still counted")
	}
}

// stuckWriter is that of a client that does not read.
type stuckWriter struct {
	*httptest.ResponseRecorder
	responds, ended chan struct{}
}

func (w *stuckWriter) Write(data []byte) (int, error) {
	close(w.responds)
	<-w.ended
	return w.ResponseRecorder.Write(data)
}
