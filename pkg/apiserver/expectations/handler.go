// Package expectations rejects requests with the header "Expect: 100-continue".
//
// A server written in Go sends the status 100 when the body of such a request is read. kube-apiserver forwards it, and
// its filter of timeouts takes it for the status of the response: the client then gets 200 for every request, also for
// one that has failed.
package expectations

import (
	"net/http"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
)

// reasonExpectationFailed is the status' text of HTTP; Kubernetes has none.
const reasonExpectationFailed metav1.StatusReason = "ExpectationFailed"

// WithoutContinue responds with 417 to requests that expect 100, without reading their body. RFC 9110 has clients then
// repeat the request without the header. It must be outside of the filters that replace the body.
func WithoutContinue(handler http.Handler, serializer runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !expectsContinue(r) {
			handler.ServeHTTP(w, r)
			return
		}
		err := &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusExpectationFailed, Reason: reasonExpectationFailed,
			Message: `the header "Expect: 100-continue" is not supported: repeat the request without it`,
		}}
		responsewriters.ErrorNegotiated(err, serializer, schema.GroupVersion{}, w, r)
	})
}

// expectsContinue reports whether the server would send 100. HTTP/2 servers have removed the header, and leave only a
// field in the body.
func expectsContinue(r *http.Request) bool {
	if r.Header.Get("Expect") != "" {
		return true
	}
	body := reflect.Indirect(reflect.ValueOf(r.Body))
	if body.Kind() != reflect.Struct {
		return false
	}
	field := body.FieldByName("needsContinue")
	return field.Kind() == reflect.Bool && field.Bool()
}
