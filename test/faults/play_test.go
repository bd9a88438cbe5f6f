package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/test/framework"
)

// checkPeriod is the time between two checks of a namespace. A check compares all its objects, and
// 32 namespaces are checked at once: with a shorter period, the checks would take more CPU than the
// components under test.
const checkPeriod = time.Second

// waitUntil waits until check returns nil, and returns its last error otherwise.
func waitUntil(ctx context.Context, check func(context.Context) error) error {
	return framework.Poll(ctx, checkPeriod, waitTimeout, check)
}

// newWorld creates a namespace. It is removed with the cluster: deleting hundreds would take longer
// than all the tests.
func newWorld(t *testing.T) world {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "faults-"}}
	namespace, err := kube.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return world{namespace: namespace.Name}
}

// newWorlds creates the namespaces of a batch.
func newWorlds(t *testing.T, o *observer, points []point) []world {
	t.Helper()
	worlds := make([]world, len(points))
	for i, p := range points {
		worlds[i] = newWorld(t)
		worlds[i].observer = o
		if p.scenario.observed {
			worlds[i].remote = &remote{head: commitA}
		}
	}
	return worlds
}

// concurrency is the number of namespaces of a batch that are changed, or waited for, at once.
const concurrency = 32

// each calls do for every world, and returns the errors in the same order.
func each(worlds []world, do func(int, world) error) []error {
	failures, turns := make([]error, len(worlds)), make(chan struct{}, concurrency)
	var pool sync.WaitGroup
	for i, w := range worlds {
		pool.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if err := do(i, w); err != nil {
				failures[i] = fmt.Errorf("%s: %w", w.namespace, err)
			}
		})
	}
	pool.Wait()
	return failures
}

// point is a fault at a call of a scenario. A point without a fault is an undisturbed play.
type point struct {
	scenario scenario
	fault    *fault
	at       call
}

func (p point) String() string {
	return fmt.Sprintf("%s/%s/%s", strings.ReplaceAll(p.scenario.name, " ", "-"), p.at, p.fault.name)
}

// undisturbed returns n plays of a scenario without a fault.
func (s scenario) undisturbed(n int) []point { return slices.Repeat([]point{{scenario: s}}, n) }

// outcome is the result of a scenario in one namespace.
type outcome struct {
	world world
	// err is the reason why the final state was not reached.
	err   error
	state state
	// reported counts the events by type and reason.
	reported map[string]int
	// due is the least number of each event; only bounds sets it.
	due map[string]int
	// calls are the calls of the controller that meets the fault.
	calls []call
	// writes counts the writes that reached the API server, by all controllers, until the namespace
	// was settled.
	writes map[site]int
	// settled counts the writes of another controller that is then started in the settled namespace.
	settled map[site]int
	// struck means that the fault has met its call.
	struck bool
}

// play plays each point in a namespace of its own, with one controller for all of them, or with a
// controller of the namespace if there is a single point. The namespaces must reach the state want
// or, if it is nil, the state of the first undisturbed play of their scenario.
//
// After a crash, the controller sends no more requests for that namespace. Once every namespace has
// crashed or is settled, the controller is stopped and a second one takes over all of them; a third
// one then starts in the settled namespaces.
func play(t *testing.T, o *observer, want state, points ...point) []outcome {
	t.Helper()
	ctx, worlds := t.Context(), newWorlds(t, o, points)
	disturbed := newWire(worlds...)
	disturbed.listing = points[0].scenario.listing
	arm := func(i int) { disturbed.arm(worlds[i], points[i].fault, points[i].at) }
	prepare(t, points, worlds)
	for i, p := range points {
		if p.scenario.before == nil {
			arm(i)
		}
	}
	first := start(t, disturbed, worlds...)
	// The change must arrive as an event, not with the first list.
	reconciled(t, first, worlds)
	for i, p := range points {
		if p.scenario.before != nil {
			arm(i)
		}
	}
	do := func(i int, w world) error { return points[i].scenario.do(ctx, w) }
	if err := errors.Join(each(worlds, do)...); err != nil {
		t.Fatal(err)
	}
	references := map[string]func() (state, error){}
	for i, p := range points {
		if want != nil {
			references[p.scenario.name] = func() (state, error) { return want, nil }
		} else if references[p.scenario.name] == nil && p.fault == nil {
			references[p.scenario.name] = func() (state, error) { return o.cached(worlds[i].namespace) }
		}
	}
	there := func(ctx context.Context, i int) error {
		s, w := points[i].scenario, worlds[i]
		// The comparison of all objects costs more, and most namespaces are not settled yet.
		if err := s.until(ctx, w); err != nil {
			return err
		}
		wanted, err := references[s.name]()
		if err != nil {
			return err
		}
		have, err := o.cached(w.namespace)
		if err != nil {
			return err
		}
		if difference := have.diff(wanted); difference != "" {
			return errors.New(difference)
		}
		return nil
	}
	crashed := func(i int) bool {
		return points[i].fault != nil && points[i].fault.crash && disturbed.struck(worlds[i])
	}
	failures := each(worlds, func(i int, _ world) error {
		return waitUntil(ctx, func(ctx context.Context) error {
			if crashed(i) {
				return nil
			}
			return there(ctx, i)
		})
	})
	first.Drain(t)

	second := takeOver(t, worlds...)
	for i, err := range each(worlds, func(i int, _ world) error {
		if !crashed(i) {
			return nil
		}
		return waitUntil(ctx, func(ctx context.Context) error { return there(ctx, i) })
	}) {
		failures[i] = errors.Join(failures[i], err)
	}
	second.Drain(t)
	last := second
	if slices.ContainsFunc(indexes(worlds), crashed) {
		last = takeOver(t, worlds...)
		last.Drain(t)
	}

	states, err := o.latest(ctx, worlds)
	if err != nil {
		t.Fatal(err)
	}
	reported, err := reportedEvents(ctx, worlds)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := make([]outcome, len(points))
	for i, w := range worlds {
		have := outcome{world: w, err: failures[i], calls: disturbed.made(w), struck: disturbed.struck(w)}
		have.state, have.reported = states[i], reported[w.namespace]
		have.writes, have.settled = disturbed.writes(w), last.writes(w)
		for site, n := range second.writes(w) {
			if crashed(i) {
				have.writes[site] += n
			} else {
				have.settled[site] = max(have.settled[site], n)
			}
		}
		outcomes[i] = have
	}
	return outcomes
}

func indexes[T any](all []T) []int {
	list := make([]int, len(all))
	for i := range list {
		list[i] = i
	}
	return list
}

// prepare creates the initial objects of the scenarios.
func prepare(t *testing.T, points []point, worlds []world) {
	t.Helper()
	if !slices.ContainsFunc(points, func(p point) bool { return p.scenario.before != nil }) {
		return
	}
	preparing := start(t, newWire(worlds...), worlds...)
	before := func(i int, w world) error {
		if points[i].scenario.before == nil {
			return nil
		}
		if err := points[i].scenario.before(t.Context(), w); err != nil {
			return fmt.Errorf("%w\nthe calls of the controller: %v", err, preparing.made(w))
		}
		return nil
	}
	if err := errors.Join(each(worlds, before)...); err != nil {
		t.Fatal(err)
	}
	preparing.Drain(t)
}

// takeOver starts a controller and waits until it has reconciled every Website.
func takeOver(t *testing.T, worlds ...world) *controller {
	t.Helper()
	c := start(t, newWire(worlds...), worlds...)
	reconciled(t, c, worlds)
	return c
}

// once runs a controller for one reconcile of every Website and returns its writes.
func (w world) once(t *testing.T) map[site]int {
	t.Helper()
	c := takeOver(t, w)
	c.Drain(t)
	return c.writes(w)
}

// reconciled waits until a controller has reconciled every Website of the worlds.
func reconciled(t *testing.T, c *controller, worlds []world) {
	t.Helper()
	list, err := websites.WebsiteV1beta1().Websites(scopeOf(worlds)).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, site := range list.Items {
		i := slices.IndexFunc(worlds, func(w world) bool { return w.namespace == site.Namespace })
		if i >= 0 {
			err = errors.Join(err, c.reconciles.Await(t.Context(), worlds[i].key(site.Name), 1))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// scopeOf returns the namespace in which to list objects of the worlds; "": all. One list of all namespaces costs less
// than one of each namespace of a batch.
func scopeOf(worlds []world) string {
	if len(worlds) == 1 {
		return worlds[0].namespace
	}
	return metav1.NamespaceAll
}

// bounds returns the calls that all undisturbed plays of a scenario share, and the lowest and
// highest number of each write and event: timing alone makes a difference.
func bounds(t *testing.T, undisturbed []outcome) outcome {
	t.Helper()
	common := undisturbed[0]
	common.due = map[string]int{}
	for about, n := range common.reported {
		common.due[about] = n
	}
	for _, have := range undisturbed {
		if have.err != nil {
			t.Fatalf("undisturbed, the controller does not get there: %v\nits calls: %v", have.err, have.calls)
		}
		if difference := have.state.diff(common.state); difference != "" {
			t.Fatalf("two undisturbed plays differ in the end:\n%s", difference)
		}
		if len(have.settled) > 0 {
			t.Fatalf("undisturbed, the controller left something to do: %v", have.settled)
		}
		common.calls = slices.DeleteFunc(common.calls, func(c call) bool { return !slices.Contains(have.calls, c) })
		for site, n := range have.writes {
			common.writes[site] = max(common.writes[site], n)
		}
		for about := range common.due {
			common.due[about] = min(common.due[about], have.reported[about])
		}
		for about, n := range have.reported {
			common.reported[about] = max(common.reported[about], n)
		}
	}
	return common
}
