package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
)

// metricsTimeout bounds the requests for metrics.
const metricsTimeout = 10 * time.Second

// runWithMetrics runs run until ctx ends, and serves /metrics and /livez at address meanwhile,
// unless it is empty.
func runWithMetrics(ctx context.Context, address string, run func(context.Context)) error {
	if address == "" {
		run(ctx)
		return nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("--metrics-address: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", legacyregistry.Handler())
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	server := &http.Server{Handler: mux, ReadTimeout: metricsTimeout, WriteTimeout: metricsTimeout}
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		err := server.Serve(listener)
		cancel(err)
		ended <- err
	}()
	run(ctx)
	closed := server.Close()
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return closed //nolint:wrapcheck // It names the listener.
}
