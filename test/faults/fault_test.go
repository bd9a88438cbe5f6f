package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// fault is the failure of one call.
type fault struct {
	name string
	// sent means that the API server receives and executes the request.
	sent bool
	// crash means that the controller ends before it can read the response.
	crash bool
	// reads means that reads meet it as well as writes. A read has no effect, so a fault after a read
	// equals one before the next call.
	reads bool
	// kind means that it represents faults that differ only in the response.
	kind bool
	// answer returns the response that the controller gets in place of the API server's.
	answer func(*http.Request) (*http.Response, error)
}

// faults are the faults that every call meets.
var faults = []*fault{
	{name: "no connection", kind: true, reads: true,
		answer: fails(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})},
	{name: "timeout", answer: fails(timeoutError{})},
	{name: "internal error", reads: true,
		answer: refuses(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)},
	{name: "conflict", answer: refuses(http.StatusConflict, metav1.StatusReasonConflict, 0)},
	{name: "too many requests", answer: refuses(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, 1)},
	{name: "answer lost", kind: true, sent: true, answer: fails(io.ErrUnexpectedEOF)},
	{name: "crash before", kind: true, crash: true, reads: true, answer: fails(errDead)},
	{name: "crash after", kind: true, sent: true, crash: true, answer: fails(errDead)},
}

// meets reports whether calls at a site are to meet the fault.
func (f *fault) meets(s site) bool { return f.reads || s.mutating() }

// strike applies the fault to a call.
func (f *fault) strike(w *wire, at *traffic, s site, base http.RoundTripper, r *http.Request) (*http.Response, error) {
	defer w.happened(at, f.crash)
	if !f.sent {
		if r.Body != nil {
			r.Body.Close()
		}
		return f.answer(r)
	}
	response, err := base.RoundTrip(r)
	if err == nil {
		w.answered(at, s)
		response.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("a call that was to succeed before the fault: %w", err)
	}
	return f.answer(r)
}

func fails(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// refuses answers as the API server would, with a Retry-After in seconds unless
// that is 0.
func refuses(code int, reason metav1.StatusReason, retryAfter int) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		status := metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   metav1.StatusFailure, Reason: reason, Code: int32(code), Message: "a fault of the test",
		}
		header := http.Header{"Content-Type": {"application/json"}}
		if retryAfter != 0 {
			status.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(retryAfter)}
			header.Set("Retry-After", strconv.Itoa(retryAfter))
		}
		body, err := json.Marshal(status)
		if err != nil {
			return nil, err
		}
		return &http.Response{
			StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
		}, nil
	}
}

// timeoutError is the network error for a response that does not arrive.
type timeoutError struct{}

func (timeoutError) Error() string   { return "i/o timeout" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

var _ net.Error = timeoutError{}

func closeIdle(base http.RoundTripper) { utilnet.CloseIdleConnectionsFor(base) }
