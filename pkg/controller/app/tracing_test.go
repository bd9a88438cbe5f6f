package app

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/kubesites/website-apiserver/pkg/controller/options"
)

// spanCollector is an OpenTelemetry collector that keeps what it gets.
type spanCollector struct {
	collector.UnimplementedTraceServiceServer
	mu       sync.Mutex
	services map[string][]string
}

func (c *spanCollector) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		service := ""
		for _, attribute := range resource.Resource.Attributes {
			if attribute.Key == "service.name" {
				service = attribute.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				c.services[service] = append(c.services[service], name(span))
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func name(span *tracev1.Span) string { return span.Name }

func startCollector(t *testing.T) (*spanCollector, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, server := &spanCollector{services: map[string][]string{}}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, c)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // Ends with Stop, which is no error.
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return c, listener.Addr().String()
}

// tracingOptions are those of a controller that traces to an endpoint.
func tracingOptions(t *testing.T, endpoint string, perMillion int) *options.Options {
	t.Helper()
	o, err := options.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	o.Tracing.ConfigFile = filepath.Join(t.TempDir(), "tracing.yaml")
	content := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %s\nsamplingRatePerMillion: %d\n", endpoint, perMillion)
	if err := os.WriteFile(o.Tracing.ConfigFile, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestSpansReachTheCollector(t *testing.T) {
	for name, test := range map[string]struct {
		perMillion int
		want       int
	}{"all": {1_000_000, 1}, "none": {0, 0}} {
		t.Run(name, func(t *testing.T) {
			c, endpoint := startCollector(t)
			provider, err := tracingOptions(t, endpoint, test.perMillion).TracerProvider(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, span := provider.Tracer("test").Start(t.Context(), "pass")
			span.End()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := provider.Shutdown(ctx); err != nil {
				t.Fatal(err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if got := c.services[options.Name]; len(got) != test.want {
				t.Errorf("spans of %s: %q, want %d", options.Name, got, test.want)
			}
		})
	}
}
