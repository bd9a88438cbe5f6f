package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// waitUntil waits until check returns nil, and returns its last error otherwise. Many
// tests wait at once, so each checks less often than framework.WaitFor.
func waitUntil(ctx context.Context, check func(context.Context) error) error {
	return framework.Poll(ctx, 250*time.Millisecond, waitTimeout, check)
}

// newWorld creates a namespace. It goes away with the cluster: deleting hundreds
// would take longer than all the tests.
func newWorld(t *testing.T) world {
	t.Helper()
	namespace, err := kube.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "faults-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return world{namespace: namespace.Name}
}

// newWorld creates a namespace for the scenario.
func (s scenario) newWorld(t *testing.T) world {
	t.Helper()
	w := newWorld(t)
	if s.observed {
		w.remote = &remote{head: commitA}
	}
	return w
}

// outcome is what a run of a scenario came to.
type outcome struct {
	state state
	// reported is how often which event was reported.
	reported map[string]int
	// due is how often each event is reported at least; only undisturbed has it.
	due map[string]int
	// calls are those of the controller that meets the fault.
	calls []call
	// writes are those that got through to the API server, of all controllers.
	writes map[site]int
	// settled are the writes of another controller that then starts over what is settled.
	settled map[site]int
	// struck means that the call at which the fault was to happen was made.
	struck bool
}

// undisturbed is what a scenario comes to when nothing gets in the way: the bounds of two
// plays, as timing alone makes a difference as well, and the calls that both made, as no
// other can be provoked.
func (s scenario) undisturbed(t *testing.T, o *observer) outcome {
	t.Helper()
	want := s.reference(t, o)
	bounds, again := s.play(t, o, nil, call{}, want), s.play(t, o, nil, call{}, want)
	bounds.calls = slices.DeleteFunc(bounds.calls, func(c call) bool { return !slices.Contains(again.calls, c) })
	for site, n := range again.writes {
		bounds.writes[site] = max(bounds.writes[site], n)
	}
	bounds.due = maps.Clone(bounds.reported)
	for about := range bounds.due {
		bounds.due[about] = min(bounds.due[about], again.reported[about])
	}
	for about, n := range again.reported {
		bounds.reported[about] = max(bounds.reported[about], n)
	}
	return bounds
}

// reference is what a scenario comes to when nothing gets in the way and
// controllers go on until there is nothing left to do.
func (s scenario) reference(t *testing.T, o *observer) state {
	t.Helper()
	ctx, w := t.Context(), s.newWorld(t)
	if s.before != nil {
		s.prepare(t, w)
	}
	undisturbed := start(t, newWire(), w)
	if err := s.do(ctx, w); err != nil {
		t.Fatal(err)
	}
	if err := waitUntil(ctx, func(ctx context.Context) error { return s.until(ctx, w) }); err != nil {
		t.Fatal(err)
	}
	undisturbed.Drain(t)
	err := waitUntil(ctx, func(ctx context.Context) error {
		if writes := w.once(t); len(writes) > 0 {
			return fmt.Errorf("there was something left to do: %v", writes)
		}
		return s.until(ctx, w)
	})
	if err != nil {
		t.Fatal(err)
	}
	reference, err := o.read(ctx, w.namespace)
	if err != nil {
		t.Fatal(err)
	}
	return reference
}

// play runs a scenario once, with a fault at a call if f is not nil, until the
// namespace is as wanted, and in the end stops the controller.
func (s scenario) play(t *testing.T, o *observer, f *fault, at call, want state) outcome {
	t.Helper()
	ctx, w := t.Context(), s.newWorld(t)
	disturbed := newWire()
	disturbed.listing = s.listing
	if s.before == nil {
		disturbed.arm(f, at)
	} else {
		s.prepare(t, w)
	}
	running := start(t, disturbed, w)
	if s.before != nil {
		// What users do is to come as an event, not to be there already.
		w.reconciled(t, running)
		disturbed.arm(f, at)
	}
	wires := []*wire{disturbed}

	if err := s.do(ctx, w); err != nil {
		t.Fatal(err)
	}
	err := waitUntil(ctx, func(ctx context.Context) error {
		if f != nil && f.crash && disturbed.hasFired() && len(wires) == 1 {
			running.crash()
			wires = append(wires, newWire())
			running = start(t, wires[1], w)
		}
		if err := s.until(ctx, w); err != nil {
			return err
		}
		have, err := o.read(ctx, w.namespace)
		if err != nil {
			return err
		}
		if difference := have.diff(want); difference != "" {
			return errors.New(difference)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: the controller does not get there: %v\nits calls: %v", w.namespace, err, running.made())
	}
	running.Drain(t)
	result := outcome{calls: disturbed.made(), writes: map[site]int{}, struck: disturbed.hasFired()}
	if f == nil || result.struck {
		result.settled = w.once(t)
	}
	for _, wire := range wires {
		for site, n := range wire.writes() {
			result.writes[site] += n
		}
	}
	if result.state, err = o.read(ctx, w.namespace); err != nil {
		t.Fatal(err)
	}
	if result.reported, err = o.reported(ctx, w.namespace); err != nil {
		t.Fatal(err)
	}
	return result
}

// prepare makes what a scenario starts from.
func (s scenario) prepare(t *testing.T, w world) {
	t.Helper()
	preparing := start(t, newWire(), w)
	if err := s.before(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	preparing.Drain(t)
}

// once runs a controller for one reconcile of every Website and returns what it wrote.
func (w world) once(t *testing.T) map[site]int {
	t.Helper()
	c := start(t, newWire(), w)
	w.reconciled(t, c)
	c.Drain(t)
	return c.writes()
}

// reconciled waits until a controller has reconciled every Website.
func (w world) reconciled(t *testing.T, c *controller) {
	t.Helper()
	names, err := w.names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := c.reconciles.Await(t.Context(), name, 1); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", w.namespace, err))
		}
	}
}
