package faults

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// gate is what the watches of a resource go through. It delays, freezes and ends
// them, as networks and API servers do.
type gate struct {
	mu sync.Mutex
	// open is closed while events may pass.
	open    chan struct{}
	streams map[*stream]bool
	// expired makes the next watch that wants to go on from a resource version
	// learn that it is too old.
	expired bool
	// lag is how long after the last one an event arrives.
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

// thaw lets them go, in their order.
func (g *gate) thaw() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.open)
}

// expire thaws, but ends the watches with what they held back, and has them begin
// again: the informer sees only what came of all that it missed.
func (g *gate) expire() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expired = true
	for s := range g.streams {
		s.cancel()
	}
	close(g.open)
}

// setLag has every event from now on arrive late.
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

// Read returns what has arrived once the gate is open. What arrives while it is
// closed does not get through before it opens.
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
		return 0, io.EOF // With what was held back.
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
