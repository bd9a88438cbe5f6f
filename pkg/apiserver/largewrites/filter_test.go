package largewrites

import (
	"context"
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
	l := NewLimiter()
	l.patience = 10 * time.Millisecond
	l.Size = func(_ context.Context, _, name string) int64 {
		if name == "large" {
			return validation.MaxBytes / 2
		}
		return minBytes - 1
	}
	exhaust(l.budget, "full")
	handler := l.WithLimit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion())
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
	r.ContentLength = length
	ctx := request.WithRequestInfo(r.Context(), &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: website.GroupName, APIVersion: "v1beta1", Resource: "websites", Namespace: namespace, Name: name, Subresource: subresource,
	})
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, r.WithContext(ctx))
	if free := l.inFlight.TryAcquire(inFlightBytes); !free {
		t.Error("the write is still counted as in flight")
	}
	return recorder
}

func TestWithLimit(t *testing.T) {
	tests := map[string]struct {
		verb, namespace, name string
		subresource           string
		length                int64
		want                  int
	}{
		"small":                               {verb: "patch", namespace: "full", name: "small", length: 100, want: http.StatusOK},
		"small creation":                      {verb: "create", namespace: "full", length: minBytes - 1, want: http.StatusOK},
		"large creation":                      {verb: "create", namespace: "full", length: minBytes, want: http.StatusTooManyRequests},
		"of unknown length":                   {verb: "create", namespace: "full", length: -1, want: http.StatusTooManyRequests},
		"small patch of a large Website":      {verb: "patch", namespace: "full", name: "large", length: 10, want: http.StatusTooManyRequests},
		"large update of a small Website":     {verb: "update", namespace: "full", name: "small", length: 100 << 10, want: http.StatusTooManyRequests},
		"rollback of a large Website":         {verb: "create", namespace: "full", name: "large", subresource: "rollback", length: 10, want: http.StatusTooManyRequests},
		"sync of a large Website":             {verb: "create", namespace: "full", name: "large", subresource: "sync", length: 3 << 20, want: http.StatusOK},
		"longer than a Website may be":        {verb: "create", namespace: "other", length: 3 << 20, want: http.StatusOK},
		"large, in another namespace":         {verb: "update", namespace: "other", name: "large", length: 100, want: http.StatusOK},
		"deletion of a large Website":         {verb: "delete", namespace: "full", name: "large", want: http.StatusOK},
		"reading a large Website":             {verb: "get", namespace: "full", name: "large", want: http.StatusOK},
		"a large one of all, by a collection": {verb: "deletecollection", namespace: "full", want: http.StatusOK},
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
