package framework

import (
	"context"
	"errors"
	"sync"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/kubesites/website-apiserver/pkg/controller/website"
)

// Reconciles counts the reconciles of a controller by Website (namespace/name) and result, from
// their spans. It is a span processor.
type Reconciles struct {
	mu      sync.Mutex
	changed chan struct{}
	counts  map[string]map[string]int
}

var _ sdktrace.SpanProcessor = &Reconciles{}

// NewReconciles returns counters at zero.
func NewReconciles() *Reconciles {
	return &Reconciles{changed: make(chan struct{}), counts: map[string]map[string]int{}}
}

// OnEnd counts a reconcile.
func (r *Reconciles) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.Name() != website.SpanReconcile {
		return
	}
	var namespace, name, result string
	for _, a := range span.Attributes() {
		switch a.Key {
		case "k8s.namespace.name":
			namespace = a.Value.AsString()
		case "website.name":
			name = a.Value.AsString()
		case "website.reconcile.result":
			result = a.Value.AsString()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := namespace + "/" + name
	if r.counts[key] == nil {
		r.counts[key] = map[string]int{}
	}
	r.counts[key][result]++
	close(r.changed)
	r.changed = make(chan struct{})
}

// Of returns the number of reconciles of a Website (namespace/name) that ended with one of the
// results, or with any result if none is given, and a channel that is closed at the next reconcile.
func (r *Reconciles) Of(key string, results ...string) (int, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := 0
	for result, n := range r.counts[key] {
		if len(results) == 0 {
			sum += n
		}
		for _, wanted := range results {
			if result == wanted {
				sum += n
			}
		}
	}
	return sum, r.changed
}

// Await waits until at least n reconciles of a Website have ended with one of the
// results.
func (r *Reconciles) Await(ctx context.Context, key string, n int, results ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, WaitTimeout, errors.New("too few reconciles of Website "+key))
	defer cancel()
	for {
		have, more := r.Of(key, results...)
		if have >= n {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// OnStart does nothing: the span's result is known at its end.
func (r *Reconciles) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// Shutdown does nothing, as no resources are held.
func (r *Reconciles) Shutdown(context.Context) error { return nil }

// ForceFlush does nothing, as spans are not buffered.
func (r *Reconciles) ForceFlush(context.Context) error { return nil }
