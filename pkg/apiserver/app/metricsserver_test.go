package app

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

func TestRunWithMetrics(t *testing.T) {
	gauge := metrics.NewGauge(&metrics.GaugeOpts{Name: "test_run_with_metrics", Help: "For a test."})
	legacyregistry.MustRegister(gauge)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	// The address is in use.
	if err := runWithMetrics(t.Context(), address, func(context.Context) { t.Error("it runs") }); err == nil {
		t.Error("an address in use is not reported")
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	ran := false
	err = runWithMetrics(t.Context(), address, func(ctx context.Context) {
		ran = true
		for path, want := range map[string]string{"/metrics": "test_run_with_metrics 0", "/livez": "ok"} {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if err != nil || !strings.Contains(string(body), want) {
				t.Errorf("%s is %q, %v", path, body, err)
			}
		}
	})
	if err != nil || !ran {
		t.Errorf("runWithMetrics = %v, ran: %t", err, ran)
	}
}
