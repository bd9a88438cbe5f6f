package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// counts are what /metrics shows, under git-sync's names.
type counts struct {
	mu                     sync.Mutex
	success, noop, failure int
	seconds                float64
	ready                  bool
}

func (c *counts) note(changed bool, err error, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seconds += took.Seconds()
	switch {
	case err != nil:
		c.failure++
	case changed:
		c.success++
	default:
		c.noop++
	}
	// Once ready, always ready: what is published stays published.
	c.ready = c.ready || err == nil
}

// setReady is called within the first sync, before what is stale is removed.
func (c *counts) setReady() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = true
}

func (c *counts) serveReady(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready {
		http.Error(w, "repo is not ready", http.StatusServiceUnavailable)
	}
}

func (c *counts) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = fmt.Fprintf(w, `# %s
# TYPE git_sync_count_total counter
git_sync_count_total{status="error"} %d
git_sync_count_total{status="noop"} %d
git_sync_count_total{status="success"} %d
# TYPE git_sync_duration_seconds summary
git_sync_duration_seconds_sum %g
git_sync_duration_seconds_count %d
`, notice, c.failure, c.noop, c.success, c.seconds, c.failure+c.noop+c.success)
}

// serve answers at --http-bind, if that is set, until the returned function is called.
func serve(ctx context.Context, o options, c *counts) (func(), error) {
	if o.httpBind == "" {
		return func() {}, nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", c.serveReady)
	if o.httpMetrics {
		mux.HandleFunc("/metrics", c.serveMetrics)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", o.httpBind)
	if err != nil {
		return nil, fmt.Errorf("listening at --http-bind: %w", err)
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}
