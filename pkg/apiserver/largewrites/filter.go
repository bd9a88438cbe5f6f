package largewrites

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/validation"
	"github.com/kubesites/website-apiserver/pkg/apiserver/costlybodies"
)

const (
	// namespaceBytes of the large writes of a namespace are read and processed at once: one of the largest.
	namespaceBytes = validation.MaxBytes
	// inFlightBytes of all large writes are processed at once, half of it of one namespace. In the
	// process it takes fifty times as much.
	inFlightBytes = 2 * namespaceBytes
	// maxTurn is how long a write is counted as processed at most, the default of --request-timeout. It does not end with
	// the context of the request: a client can end that at once, while its body is being decoded.
	maxTurn = time.Minute
	// abandonedTurn is how long a write is counted after its context has ended: the handlers of API servers then respond,
	// while a goroutine still applies the patch.
	abandonedTurn = time.Second
	// defaultPatience is how long a write waits before it is rejected. It also slows
	// down clients that retry at once.
	defaultPatience = time.Second
	// minRetryAfter and maxRetryAfter bound the Retry-After of a response, in seconds.
	minRetryAfter, maxRetryAfter = 1, 30
)

// Limiter rejects large writes beyond the budget.
type Limiter struct {
	// Size returns the size of a stored Website, 0 if there is none. It is set before
	// the first request.
	Size func(ctx context.Context, namespace, name string) int64

	budget                           *budget
	bodies                           *bodies
	inFlight                         *semaphore.Weighted
	patience, maxTurn, abandonedTurn time.Duration
}

// NewLimiter returns a Limiter with nothing used.
func NewLimiter() *Limiter {
	return &Limiter{
		Size:          func(context.Context, string, string) int64 { return 0 },
		budget:        newBudget(clock.RealClock{}),
		bodies:        newBodies(),
		inFlight:      semaphore.NewWeighted(inFlightBytes),
		patience:      defaultPatience,
		maxTurn:       maxTurn,
		abandonedTurn: abandonedTurn,
	}
}

// WithLimit answers large writes beyond the budget with 429 and Retry-After, before
// they are processed.
func (l *Limiter) WithLimit(handler http.Handler, serializer runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !info.IsResourceRequest || info.APIGroup != website.GroupName || !slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, info.Verb) {
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

// enter returns the request, and what to call at its end, any number of times. It returns an error for the client if
// the request is rejected.
func (l *Limiter) enter(r *http.Request, info *request.RequestInfo) (*http.Request, func(), error) {
	free := func() {}
	switch {
	case info.Subresource == "sync":
		// Requests of a sync are recorded at a limited rate, and no decoder reads their body, which is not stored.
		return r, free, nil
	case strings.HasPrefix(info.Verb, "delete"):
		// The options need no more, and decoders read all of it before they find that out.
		r, body, err := withBody(r, minBytes)
		if err == nil {
			err = costlybodies.Check(body, formatOf(r))
		}
		return r, free, err
	}
	r, bytes, err := l.measure(r, info)
	if err != nil || bytes < minBytes {
		return r, free, err
	}
	return l.admit(r, info.Namespace, bytes)
}

// measure returns how large the write is: the request, or the Website that it changes. A
// request that does not say how long it is, and does not end before it is large, may be as large as a Website, and so
// may what a JSON patch makes. A short one is read to find out, and whether it is costly in another way.
func (l *Limiter) measure(r *http.Request, info *request.RequestInfo) (*http.Request, int64, error) {
	bytes := r.ContentLength
	if bytes < 0 {
		var err error
		if r, bytes, err = lengthOf(r); err != nil {
			return r, 0, err
		}
	}
	isPatch, isLarge := info.Verb == "patch" && isJSONPatch(r), bytes >= minBytes
	if !isLarge {
		read, body, err := withBody(r, maxBodyBytes)
		if err == nil {
			err = costlybodies.Check(body, formatOf(r))
		}
		if err != nil {
			return r, 0, err
		}
		r, isLarge = read, isPatch && copies(body)
	}
	if isPatch && isLarge {
		bytes = validation.MaxBytes
	}
	if info.Name != "" {
		bytes = max(bytes, l.Size(r.Context(), info.Namespace, info.Name))
	}
	return r, min(bytes, validation.MaxBytes), nil
}

// admit reads the body of a write, waits for its turn, and returns what to call at its end. It
// returns an error for the client if the write is rejected. The body comes first: all others would
// wait for a client that sends it slowly.
func (l *Limiter) admit(r *http.Request, namespace string, bytes int64) (*http.Request, func(), error) {
	ctx, cancel := context.WithTimeout(r.Context(), l.patience)
	defer cancel()
	releaseBody, err := l.bodies.acquire(ctx, namespace, bytes)
	if err != nil {
		rejected()
		return r, nil, newRejection("in namespace "+namespace, l.patience)
	}
	read, body, err := withBody(r, maxBodyBytes)
	if err != nil {
		releaseBody()
		return r, nil, err
	}
	if err := l.take(r.Context(), namespace, bytes); err != nil {
		releaseBody()
		rejected()
		return r, nil, err
	}
	release := l.turn(r.Context(), func() { l.inFlight.Release(bytes); releaseBody() })
	// A document takes a hundred times its size while it is read, so that has its turn as well.
	if err := costlybodies.Check(body, formatOf(r)); err != nil {
		release()
		return r, nil, err
	}
	admitted()
	return read, release, nil
}

// turn returns what ends a turn that begins now. end is called once.
func (l *Limiter) turn(ctx context.Context, end func()) (release func()) {
	end = sync.OnceFunc(end)
	limit := time.AfterFunc(l.maxTurn, end)
	return sync.OnceFunc(func() {
		if ctx.Err() != nil {
			time.AfterFunc(l.abandonedTurn, end)
			return
		}
		limit.Stop()
		end()
	})
}

// take has a write processed, or returns an error for the client that says when it may be tried again.
func (l *Limiter) take(ctx context.Context, namespace string, bytes int64) error {
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	if err := l.inFlight.Acquire(ctx, bytes); err != nil {
		return newRejection("at once, of all namespaces", l.patience)
	}
	if retryAfter := l.budget.take(namespace, bytes); retryAfter > 0 {
		l.inFlight.Release(bytes)
		<-ctx.Done()
		return newRejection("in namespace "+namespace, retryAfter)
	}
	return nil
}

// newRejection says where there are too many writes.
func newRejection(where string, retryAfter time.Duration) error {
	seconds := min(max(int(retryAfter.Seconds()+1), minRetryAfter), maxRetryAfter)
	return apierrors.NewTooManyRequests(fmt.Sprintf("too many writes of Websites above %d KiB %s: retry in %d seconds", minBytes>>10, where, seconds), seconds)
}

// releasingWriter releases what a write takes when its response begins: a client that does not read it would keep
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
