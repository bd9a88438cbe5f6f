package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"
)

const retryAfterHeader = "Retry-After"

// retryAfterInStatus makes a client return Retry-After responses immediately. By default, client-go
// waits for the duration in the Retry-After header and tries up to ten times; meanwhile it holds a
// worker that other Websites need. It reads only the header, so the hint moves into the Status, from
// which apierrors.SuggestsClientDelay reads it.
type retryAfterInStatus struct{ next http.RoundTripper }

var _ utilnet.RoundTripperWrapper = retryAfterInStatus{}

// RoundTrip makes a request.
func (t retryAfterInStatus) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusTooManyRequests &&
		response.StatusCode < http.StatusInternalServerError {
		return response, err
	}
	seconds, err := strconv.Atoi(response.Header.Get(retryAfterHeader))
	if err != nil {
		return response, nil // There is none that client-go would wait for.
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("reading an answer of the API server with code %d: %w", response.StatusCode, err)
	}
	status := statusOf(response.StatusCode, request.Method, body)
	if status.Details == nil {
		status.Details = &metav1.StatusDetails{}
	}
	if status.Details.RetryAfterSeconds == 0 {
		status.Details.RetryAfterSeconds = int32(min(seconds, math.MaxInt32))
	}
	if body, err = json.Marshal(status); err != nil {
		return nil, fmt.Errorf("encoding an answer of the API server with code %d: %w", response.StatusCode, err)
	}
	response.Header.Del(retryAfterHeader)
	response.Header.Set("Content-Type", runtime.ContentTypeJSON)
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
	response.ContentLength = int64(len(body))
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// WrappedRoundTripper returns the next round tripper.
func (t retryAfterInStatus) WrappedRoundTripper() http.RoundTripper { return t.next }

// statusOf returns the Status in a response. Filters before the API, such as priority and fairness,
// respond with plain text.
func statusOf(code int, method string, body []byte) *metav1.Status {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	status, ok := object.(*metav1.Status)
	if err != nil || !ok || status.Status != metav1.StatusFailure {
		status = &apierrors.NewGenericServerResponse(code, method, schema.GroupResource{}, "", string(body),
			0, true).ErrStatus
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	return status
}
