package faults

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/kubesites/website-apiserver/pkg/controller/app"
	"github.com/kubesites/website-apiserver/test/framework"
)

// controller is a running website-controller.
type controller struct {
	*wire
	*framework.Controller
	reconciles *framework.Reconciles
}

// flags returns the flags of every controller here. Leader election is off, as many controllers run
// at once; it has tests of its own.
func flags(worlds []world) []string {
	// Simulated pods have no reachable addresses.
	observation := "None"
	if worlds[0].remote != nil {
		observation = "PodProxy" // The wire answers the probes.
	}
	flags := []string{
		"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0", "--commit-observation=" + observation,
		// A batch takes over Deployments in all its namespaces at once.
		"--max-concurrent-rollouts=0",
	}
	if len(worlds) == 1 {
		flags = append(flags, "--watch-namespace="+worlds[0].namespace)
	}
	return flags
}

// start starts a controller behind a wire, for one world or for all namespaces. Cleanup waits for
// its end.
func start(t *testing.T, wire *wire, worlds ...world) *controller {
	t.Helper()
	c := &controller{wire: wire, reconciles: framework.NewReconciles()}
	t.Cleanup(wire.close)
	c.Controller = framework.StartController(t, app.Instruments{
		WrapTransport:  wire.wrap,
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(c.reconciles)),
		// The Service routes to a ready pod sooner than that.
		TakeoverReadySeconds: 10,
	}, flags(worlds)...)
	t.Cleanup(c.die)
	return c
}
