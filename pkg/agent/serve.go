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
	// metricsTimeout is the time limit for the metrics of git-sync, on loopback.
	metricsTimeout = 2 * time.Second
	// maxMetrics is enough for the metrics of git-sync.
	maxMetrics = 1 << 20
)

// Handler serves /status, and what MetricsHandler does.
func (a *Agent) Handler(metricsURL string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.MetricsHandler(metricsURL))
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		parameters := r.URL.Query()
		if code := a.authorize(r, parameters); code != http.StatusOK {
			http.Error(w, http.StatusText(code), code)
			return
		}
		if wait := a.heed(r.Context(), parameters); wait > 0 {
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

// MetricsHandler serves /metrics with those of git-sync, which are at metricsURL. They name neither
// commits nor branches, so more clients may read them than /status.
func (a *Agent) MetricsHandler(metricsURL string) http.Handler {
	mux := http.NewServeMux()
	client := &http.Client{Timeout: metricsTimeout}
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		// A git-sync that does not answer leaves the agent's own.
		if body, err := get(r.Context(), client, metricsURL); err == nil {
			_, _ = w.Write(body)
		}
		a.writeMetrics(w)
	})
	return mux
}

func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", response.StatusCode)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxMetrics))
}

func (a *Agent) writeMetrics(w io.Writer) {
	status := a.Status()
	contact := float64(0)
	if status.LastContact != nil {
		contact = float64(status.LastContact.UnixMilli()) / 1000
	}
	_, _ = fmt.Fprintf(w, `# HELP website_agent_releases Releases that are kept.
# TYPE website_agent_releases gauge
website_agent_releases %d
# HELP website_agent_git_sync_restarts_total Restarts of git-sync.
# TYPE website_agent_git_sync_restarts_total counter
website_agent_git_sync_restarts_total %d
# HELP website_agent_ended_processes_total Processes that git had left behind and that were ended.
# TYPE website_agent_ended_processes_total counter
website_agent_ended_processes_total %d
# HELP website_agent_last_contact_timestamp_seconds Time of the last successful fetch.
# TYPE website_agent_last_contact_timestamp_seconds gauge
website_agent_last_contact_timestamp_seconds %.3f
# HELP website_agent_requests_refused_total Requests that were refused because they were not signed by website-controller for this pod.
# TYPE website_agent_requests_refused_total counter
website_agent_requests_refused_total %d
`, len(status.Releases), status.Counts.GitSyncRestarts, status.Counts.EndedProcesses, contact, status.Counts.RefusedRequests)
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
	if err := server.Serve(netutil.LimitListener(listener, maxConnections)); err != nil && !errors.Is(err, http.ErrServerClosed) {
		klog.FromContext(ctx).Error(err, "Failed to serve", "address", address)
		return fmt.Errorf("serving at %s: %w", address, err)
	}
	return nil
}
