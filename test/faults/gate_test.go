package faults

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gate is passed by the watches of a resource. It delays, freezes and ends them, as networks and
// API servers do.
type gate struct {
	mu sync.Mutex
	// open is closed while events may pass.
	open    chan struct{}
	streams map[*stream]bool
	// expired makes the next watch from a resource version fail because that is too old.
	expired bool
	// lag returns the delay of an event after the one before it.
	lag func() time.Duration
}

// gateOf returns the gate of a resource, as in site.resource.
func (w *wire) gateOf(resource string) *gate {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gates[resource] == nil {
		g := &gate{open: make(chan struct{}), streams: map[*stream]bool{}}
		close(g.open)
		w.gates[resource] = g
	}
	return w.gates[resource]
}

// freeze holds back all events from now on.
func (g *gate) freeze() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = make(chan struct{})
}

// thaw releases the held events, in their order.
func (g *gate) thaw() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
}

// expire ends the watches, drops the held events and makes the informer list again: it gets only
// the result of the missed changes.
func (g *gate) expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expired = true
	for s := range g.streams {
		s.cancel()
	}
	close(g.open)
}

// setLag delays each event from now on.
func (g *gate) setLag(lag func() time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lag = lag
}

func (g *gate) takeExpired() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	expired := g.expired
	g.expired = false
	return expired
}

// watch sends a watch request through the gate.
func (g *gate) watch(base http.RoundTripper, r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	goesOn := query.Get("resourceVersion") != "" && query.Get("sendInitialEvents") != "true"
	if goesOn && g.takeExpired() {
		return refuses(http.StatusGone, metav1.StatusReasonExpired, 0)(r)
	}
	response, err := base.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	s := &stream{gate: g, body: response.Body, ctx: ctx, cancel: cancel}
	g.mu.Lock()
	g.streams[s] = true
	g.mu.Unlock()
	response.Body = s
	return response, nil
}

// stream is the body of a watch behind a gate.
type stream struct {
	gate   *gate
	body   io.ReadCloser
	ctx    context.Context
	cancel context.CancelFunc
}

// Read returns received data while the gate is open. Data that arrives while the gate is closed is
// held until it opens.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	s.gate.mu.Lock()
	open, lag := s.gate.open, s.gate.lag
	s.gate.mu.Unlock()
	if lag != nil {
		select {
		case <-time.After(lag()):
		case <-s.ctx.Done():
		}
	}
	select {
	case <-open:
	case <-s.ctx.Done():
	}
	if s.ctx.Err() != nil {
		return 0, io.EOF // The held data is dropped.
	}
	return n, err
}

// Close ends the watch.
func (s *stream) Close() error {
	s.cancel()
	s.gate.mu.Lock()
	delete(s.gate.streams, s)
	s.gate.mu.Unlock()
	return s.body.Close()
}
