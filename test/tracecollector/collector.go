// Package tracecollector is an OpenTelemetry collector for tests, which stores the
// spans that components under test export.
package tracecollector

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/grpc"
)

// Span is a received span.
type Span struct {
	// Service is the name of the component that exported it.
	Service string
	// Trace is the trace that it is part of, in hexadecimal digits.
	Trace string
	// Name is the name of the operation.
	Name string
}

// Collector receives spans on a port of 127.0.0.1 until the test ends.
type Collector struct {
	collectorv1.UnimplementedTraceServiceServer
	endpoint string

	mu    sync.Mutex
	spans []Span
}

// Start starts a collector.
func Start(t *testing.T) *Collector {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, server := &Collector{endpoint: listener.Addr().String()}, grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("the collector of traces ended: %v", err)
		}
	})
	return c
}

// WriteConfig writes the file for a component's flag --tracing-config-file,
// which exports so many in a million of its own traces to the collector, and
// returns its path.
func (c *Collector) WriteConfig(t *testing.T, perMillion int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tracing.yaml")
	content := fmt.Appendf(nil, "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: "+
		"%s\nsamplingRatePerMillion: %d\n", c.endpoint, perMillion)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Spans returns the spans received so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Export implements the protocol.
func (c *Collector) Export(_ context.Context, request *collectorv1.ExportTraceServiceRequest) (
	*collectorv1.ExportTraceServiceResponse, error,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		service := serviceName(resource.Resource.Attributes)
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				c.spans = append(c.spans, Span{Service: service, Trace: hex.EncodeToString(span.TraceId), Name: span.Name})
			}
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

func serviceName(attributes []*commonv1.KeyValue) string {
	for _, attribute := range attributes {
		if attribute.Key == "service.name" {
			return attribute.Value.GetStringValue()
		}
	}
	return ""
}
