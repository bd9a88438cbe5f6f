package faults

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/kubesites/website-apiserver/pkg/controller/app"
	"github.com/kubesites/website-apiserver/test/framework"
)

// controller is a running website-controller that looks after one namespace.
type controller struct {
	*wire
	*framework.Controller
	reconciles *framework.Reconciles
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
	c := &controller{wire: wire, reconciles: framework.NewReconciles()}
	t.Cleanup(wire.close)
	c.Controller = framework.StartController(t, app.Instruments{
		WrapTransport:  wire.wrap,
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(c.reconciles)),
	}, flags(w)...)
	t.Cleanup(c.die)
	return c
}

// crash ends the controller as kill -9 does: nothing leaves it any more.
func (c *controller) crash() {
	c.die()
	c.Stop()
}
