package integration

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// collector is an OpenTelemetry collector that keeps the names of spans by trace.
type collector struct {
	coltracepb.UnimplementedTraceServiceServer

	mu     sync.Mutex
	traces map[string][]string
}

func (c *collector) Export(_ context.Context, request *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				trace := hex.EncodeToString(span.TraceId)
				c.traces[trace] = append(c.traces[trace], span.Name)
			}
		}
	}
	return &coltracepb.ExportTraceServiceResponse{}, nil
}

// complete returns whether one trace has spans of all these names.
func (c *collector) complete(names ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, spans := range c.traces {
		found := map[string]bool{}
		for _, span := range spans {
			found[span] = true
		}
		all := true
		for _, name := range names {
			all = all && found[name]
		}
		if all {
			return true
		}
	}
	return false
}

// TestTracing follows a request from its arrival to etcd.
func TestTracing(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	traces := &collector{traces: map[string][]string{}}
	receiver := grpc.NewServer()
	coltracepb.RegisterTraceServiceServer(receiver, traces)
	served := make(chan error, 1)
	go func() { served <- receiver.Serve(listener) }()
	t.Cleanup(func() {
		receiver.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})

	config := filepath.Join(t.TempDir(), "tracing.yaml")
	writeFile(t, config, fmt.Appendf(nil, "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %s\nsamplingRatePerMillion: 1000000\n", listener.Addr()))
	s := newServer(t, "--tracing-config-file="+config)
	if _, err := newClients(t, s.config(t)).websites.WebsiteV1beta1().Websites(namespace).Create(t.Context(), newBetaWebsite(namespace, "kubia"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the collector has the spans of the request", func(context.Context) error {
		if !traces.complete("Create", "SerializeObject", "Create etcd3", "etcdserverpb.KV/Txn") {
			traces.mu.Lock()
			defer traces.mu.Unlock()
			return fmt.Errorf("traces = %v", traces.traces)
		}
		return nil
	})
}
