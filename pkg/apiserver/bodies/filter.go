package bodies

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
)

const (
	// abandonedTurn is the time for which a write counts as processed after its context has ended, such as after its
	// client has gone away: the handlers of API servers then respond, while a goroutine still applies the patch.
	abandonedTurn = time.Second
	// defaultPatience is the time for which a write waits for others before it is rejected. It also slows down clients
	// that retry at once. pollInterval is the time between two attempts.
	defaultPatience, pollInterval = time.Second, 10 * time.Millisecond
	// minRetryAfter and maxRetryAfter bound the Retry-After of a response, in seconds.
	minRetryAfter, maxRetryAfter = 1, 30
)

// writes are the verbs of requests with a body.
var writes = []string{"create", "update", "patch", "delete", "deletecollection"}

// Limiter rejects costly bodies, and large writes beyond the budget. Namespaces share the budget: a user may use
// several accounts, but not another namespace, and what website-controller writes because of a Website counts where
// the Website is.
type Limiter struct {
	// Size returns the size of a stored Website, 0 if there is none. It is set before
	// the first request.
	Size func(ctx context.Context, namespace, name string) int64

	budget                  *budget
	patience, abandonedTurn time.Duration
}

// NewLimiter returns a Limiter with nothing used.
func NewLimiter() *Limiter {
	return &Limiter{
		Size:          func(context.Context, string, string) int64 { return 0 },
		budget:        newBudget(clock.RealClock{}),
		patience:      defaultPatience,
		abandonedTurn: abandonedTurn,
	}
}

// WithLimit responds to costly bodies with 413 or 400, and to large writes beyond the budget with 429 and Retry-After,
// before they are processed.
func (l *Limiter) WithLimit(handler http.Handler, serializer runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !info.IsResourceRequest || info.APIGroup != website.GroupName || !slices.Contains(writes, info.Verb) {
			handler.ServeHTTP(w, r)
			return
		}
		r, release, err := l.enter(r, info)
		if err != nil {
			version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
			responsewriters.ErrorNegotiated(err, serializer, version, w, r)
			return
		}
		defer release()
		handler.ServeHTTP(responsewriter.WrapForHTTP1Or2(&releasingWriter{w, release}), r)
	})
}

// enter returns the request, and a function to call at its end, any number of times. It returns an error for the client
// if the request is rejected.
func (l *Limiter) enter(r *http.Request, info *request.RequestInfo) (*http.Request, func(), error) {
	switch {
	case info.Subresource == "sync":
		// Requests of a sync are recorded at a limited rate, and no decoder reads their body, which is not stored.
		return r, func() {}, nil
	case strings.HasPrefix(info.Verb, "delete"):
		// Options are small, and decoders read all of a body before they find out that it has none.
		read, body, err := withBody(r, minBytes)
		if err == nil {
			err = check(body, formatOf(r))
		}
		return read, func() {}, err
	}
	size := l.sizeOf(r, info)
	if size < minBytes {
		read, body, err := withBody(r, MaxBytes)
		if err == nil {
			err = check(body, formatOf(r))
		}
		return read, func() {}, err
	}
	return l.admit(r, info.Namespace, size)
}

// sizeOf returns how large the Website may be that a write makes: as large as its body, and for a patch also as the
// Website that it changes. A body of unknown length may be as large as any.
func (l *Limiter) sizeOf(r *http.Request, info *request.RequestInfo) int64 {
	size := r.ContentLength
	if size < 0 {
		size = largestWebsite
	}
	if info.Name != "" {
		size = max(size, l.Size(r.Context(), info.Namespace, info.Name))
	}
	return min(size, largestWebsite)
}

// admit reads the body of a large write, waits for its turn, and returns a function to call at its end. It returns an
// error for the client if the write is rejected. The budget bounds the bodies that are being read, and the turn
// begins after that: a client that sends slowly holds up no other namespace.
func (l *Limiter) admit(r *http.Request, namespace string, size int64) (*http.Request, func(), error) {
	ctx := r.Context()
	if retryAfter := l.budget.take(namespace, size); retryAfter > 0 {
		rejected()
		l.wait(ctx, func() bool { return false })
		return r, nil, newRejection("in namespace "+namespace, retryAfter)
	}
	read, body, err := withBody(r, MaxBytes)
	if err != nil {
		return r, nil, err
	}
	if !l.wait(ctx, func() bool { return l.budget.begin(namespace, size) }) {
		rejected()
		return r, nil, newRejection("at once", l.patience)
	}
	release := l.turn(ctx, func() { l.budget.end(namespace, size) })
	if err := check(body, formatOf(r)); err != nil {
		release()
		return r, nil, err
	}
	admitted()
	return read, release, nil
}

// wait returns whether something is done within the time that a write waits.
func (l *Limiter) wait(ctx context.Context, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(pollInterval):
		}
	}
	return true
}

// turn returns what ends a turn that begins now. end is called once.
func (l *Limiter) turn(ctx context.Context, end func()) (release func()) {
	return sync.OnceFunc(func() {
		if ctx.Err() != nil {
			time.AfterFunc(l.abandonedTurn, end)
			return
		}
		end()
	})
}

// withBody returns a request whose body is in memory. It returns an error for the client if there
// is none, or one of more bytes than the limit.
func withBody(r *http.Request, limit int) (*http.Request, []byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	if err != nil {
		return r, nil, apierrors.NewBadRequest(fmt.Sprintf("reading the body of the request: %v", err))
	}
	if len(body) > limit {
		return r, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", limit))
	}
	read := r.WithContext(r.Context())
	read.Body = io.NopCloser(bytes.NewReader(body))
	return read, body, nil
}

// formatOf returns the format of the body. Server-side apply sends YAML. The handlers of patches ignore the
// parameters of the type, also those that cannot be parsed.
func formatOf(r *http.Request) format {
	name, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(name)) {
	case runtime.ContentTypeYAML, string(types.ApplyYAMLPatchType):
		return asYAML
	case string(types.JSONPatchType):
		return asJSONPatch
	default:
		return asJSON
	}
}

// newRejection says where there are too many writes.
func newRejection(where string, retryAfter time.Duration) error {
	seconds := min(max(int(retryAfter.Seconds()+1), minRetryAfter), maxRetryAfter)
	return apierrors.NewTooManyRequests(fmt.Sprintf(
		"too many writes of Websites above %d KiB %s: retry in %d seconds", minBytes>>10, where, seconds), seconds)
}

// releasingWriter releases the turn of a write when its response begins: a client that does not read it would keep
// all others waiting.
type releasingWriter struct {
	http.ResponseWriter
	release func()
}

// Unwrap returns the writer underneath.
func (w *releasingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader releases before it may block.
func (w *releasingWriter) WriteHeader(code int) {
	w.release()
	w.ResponseWriter.WriteHeader(code)
}

// Write releases before it may block.
func (w *releasingWriter) Write(data []byte) (int, error) {
	w.release()
	return w.ResponseWriter.Write(data)
}
