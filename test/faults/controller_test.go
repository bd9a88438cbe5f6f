package faults

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/controller/app"
	"github.com/kubesites/website-apiserver/pkg/controller/options"
	"github.com/kubesites/website-apiserver/pkg/controller/website"
)

// controller is a running website-controller that looks after one namespace.
type controller struct {
	*wire
	passes *passes
	stop   context.CancelFunc
	done   chan error
}

// flags are those of every controller here. The lease is left out: many
// controllers run at once, and what the lease is for has tests of its own.
func flags(w world) []string {
	// The addresses of simulated pods are made up.
	observation := "None"
	if w.remote != nil {
		observation = "PodProxy" // Which ends at the wire.
	}
	return []string{
		"--kubeconfig=" + kubeconfig, "--watch-namespace=" + w.namespace,
		"--leader-elect=false", "--secure-port=0",
		"--commit-observation=" + observation,
	}
}

// start starts a controller on a wire. The test waits for its end.
func start(t *testing.T, wire *wire, w world) *controller {
	t.Helper()
	wire.remote = w.remote
	o, err := options.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	set := pflag.NewFlagSet("faults", pflag.ContinueOnError)
	for _, section := range o.Flags().FlagSets {
		set.AddFlagSet(section)
	}
	if err := set.Parse(flags(w)); err != nil {
		t.Fatal(err)
	}
	o.Complete()
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	c := &controller{wire: wire, passes: newPasses(), stop: stop, done: make(chan error, 1)}
	go func() {
		c.done <- app.RunInstrumented(ctx, o, app.Instruments{
			WrapTransport:  wire.wrap,
			TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(c.passes)),
		})
		close(c.done)
	}()
	t.Cleanup(func() {
		c.die()
		stop()
		<-c.done
		wire.close()
	})
	return c
}

// drain stops the controller as SIGTERM does, and waits until it has finished
// what it was doing.
func (c *controller) drain(t *testing.T) {
	t.Helper()
	c.stop()
	if err := <-c.done; err != nil {
		t.Errorf("a drained controller ended with: %v", err)
	}
}

// crash ends the controller as kill -9 does: nothing leaves it any more.
func (c *controller) crash() {
	c.die()
	c.stop()
}

// passes counts the passes of a controller by Website and result, from their
// spans.
type passes struct {
	mu      sync.Mutex
	changed chan struct{}
	counts  map[string]map[string]int
}

var _ sdktrace.SpanProcessor = &passes{}

func newPasses() *passes {
	return &passes{changed: make(chan struct{}), counts: map[string]map[string]int{}}
}

// OnEnd counts a pass.
func (p *passes) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.Name() != website.SpanReconcile {
		return
	}
	var name, result string
	for _, a := range span.Attributes() {
		switch a.Key {
		case "website.name":
			name = a.Value.AsString()
		case "website.reconcile.result":
			result = a.Value.AsString()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts[name] == nil {
		p.counts[name] = map[string]int{}
	}
	p.counts[name][result]++
	close(p.changed)
	p.changed = make(chan struct{})
}

// of returns how many passes over a Website ended with one of the results, all
// if none is given, and a channel that is closed when there are more.
func (p *passes) of(name string, results ...string) (int, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := 0
	for result, n := range p.counts[name] {
		if len(results) == 0 {
			sum += n
		}
		for _, wanted := range results {
			if result == wanted {
				sum += n
			}
		}
	}
	return sum, p.changed
}

// await waits until at least n passes over a Website have ended with one of the
// results.
func (p *passes) await(ctx context.Context, name string, n int, results ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, waitTimeout, errors.New("too few passes over Website "+name))
	defer cancel()
	for {
		have, more := p.of(name, results...)
		if have >= n {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// OnStart, Shutdown and ForceFlush have nothing to do.
func (p *passes) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (p *passes) Shutdown(context.Context) error                  { return nil }
func (p *passes) ForceFlush(context.Context) error                { return nil }
