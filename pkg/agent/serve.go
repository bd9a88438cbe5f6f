package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
	"k8s.io/klog/v2"
)

const (
	// maxConnections is the number of connections to a port at a time.
	maxConnections = 16
	// serveTimeout limits each request, and the time between two.
	serveTimeout = 5 * time.Second
)

// Handler serves /status and /metrics.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.MetricsHandler())
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		parameters := r.URL.Query()
		if code := a.authorize(r, parameters); code != http.StatusOK {
			http.Error(w, http.StatusText(code), code)
			return
		}
		if wait := a.postRequest(r.Context(), parameters); wait > 0 {
			// Otherwise the time limits of the server end it.
			deadline, control := time.Now().Add(wait+serveTimeout), http.NewResponseController(w)
			if errors.Join(control.SetReadDeadline(deadline), control.SetWriteDeadline(deadline)) == nil {
				a.await(r.Context(), parameters, wait)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(a.Status())
	})
	return mux
}

// MetricsHandler serves /metrics. They name neither commits nor branches, so more clients may read them than /status.
func (a *Agent) MetricsHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		a.writeMetrics(w)
		if a.Traffic == nil {
			return
		}
		if err := a.Traffic.WriteMetrics(w); err != nil {
			klog.FromContext(r.Context()).Error(err, "Failed to count requests")
		}
	})
	return mux
}

func (a *Agent) writeMetrics(w io.Writer) {
	s, _, _ := a.now()
	contact := float64(0)
	if !s.contact.IsZero() {
		contact = float64(s.contact.UnixMilli()) / 1000
	}
	_, _ = fmt.Fprintf(w, `# HELP website_agent_releases Releases that are kept.
# TYPE website_agent_releases gauge
website_agent_releases %d
# HELP website_agent_fetches_total Fetches of the repository, by result.
# TYPE website_agent_fetches_total counter
website_agent_fetches_total{result="success"} %d
website_agent_fetches_total{result="error"} %d
# HELP website_agent_fetch_duration_seconds Duration of fetches.
# TYPE website_agent_fetch_duration_seconds summary
website_agent_fetch_duration_seconds_sum %.3f
website_agent_fetch_duration_seconds_count %d
# HELP website_agent_last_contact_timestamp_seconds Time of the last successful fetch.
# TYPE website_agent_last_contact_timestamp_seconds gauge
website_agent_last_contact_timestamp_seconds %.3f
# HELP website_agent_requests_refused_total Refused requests, which website-controller has not signed for this pod.
# TYPE website_agent_requests_refused_total counter
website_agent_requests_refused_total %d
`, len(s.releases), s.fetches, s.failedFetches, s.fetchTime.Seconds(), s.fetches+s.failedFetches, contact,
		a.refusals.count.Load())
}

// Serve serves requests at an address until ctx ends.
func Serve(ctx context.Context, address string, handler http.Handler) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening at %s: %w", address, err)
	}
	server := &http.Server{
		Handler: handler, MaxHeaderBytes: 16 << 10,
		ReadTimeout: serveTimeout, WriteTimeout: serveTimeout, IdleTimeout: serveTimeout,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(netutil.LimitListener(listener, maxConnections)); err != nil &&
		!errors.Is(err, http.ErrServerClosed) {
		klog.FromContext(ctx).Error(err, "Failed to serve", "address", address)
		return fmt.Errorf("serving at %s: %w", address, err)
	}
	return nil
}
