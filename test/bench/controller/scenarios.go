package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// scenarios measures in an order in which each scenario finds the objects that it needs.
func (t *trial) scenarios(ctx context.Context) error {
	if err := t.create(ctx, create, t.Options.Websites); err != nil {
		return err
	}
	if t.measures(flood) && t.Options.Flood > 0 {
		if err := t.create(ctx, flood, t.Options.Flood); err != nil {
			return err
		}
	}
	if !t.contender.hasController() {
		return nil
	}
	if t.measures(changes) {
		if err := t.change(ctx, changes, t.Options.ChangesPerSecond, t.names); err != nil {
			return err
		}
	}
	if t.measures(hot) {
		if err := t.change(ctx, hot, t.Options.HotPerSecond, t.names[:1]); err != nil {
			return err
		}
	}
	if t.measures(restart) {
		return t.restart(ctx)
	}
	return nil
}

// create creates Websites, or their children, all at once.
func (t *trial) create(ctx context.Context, scenario string, n int) error {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("site-%d", len(t.names)+i)
	}
	t.names = append(t.names, names...)
	before, err := t.memory(ctx)
	if err != nil {
		return err
	}
	err = t.measure(ctx, scenario, func(s *sample) error {
		createOne := t.createWebsite
		if !t.contender.hasController() {
			createOne = t.createChildren
		}
		begins := make([]time.Time, n)
		var neighbour sync.WaitGroup
		var millis float64
		var failure error
		err := measure.Concurrently(n, t.Options.Clients, func(_, i int) error {
			if i == n/2 && scenario == flood && t.contender.hasController() {
				neighbour.Go(func() { millis, failure = t.createNeighbour(ctx) })
			}
			begins[i] = time.Now()
			return createOne(ctx, names[i])
		})
		neighbour.Wait()
		if err := errors.Join(err, failure); err != nil {
			return err
		}
		s.changes = n
		err = t.awaitCreated(ctx, s, names, begins)
		s.neighbour = millis
		return err
	})
	if err != nil {
		return err
	}
	after, err := t.memory(ctx)
	if err != nil {
		return err
	}
	s := &t.samples[len(t.samples)-1]
	s.heap, s.resident = float64(after.heap-before.heap)/float64(n), float64(after.resident-before.resident)/float64(n)
	return nil
}

// awaitCreated waits until all new Websites are Ready, or all Deployments available.
func (t *trial) awaitCreated(ctx context.Context, s *sample, names []string, begins []time.Time) error {
	var first, last time.Time
	err := await(ctx, "all Websites are Ready", t.patience(), func() error {
		*s = sample{scenario: s.scenario, changes: s.changes}
		first, last = time.Now(), time.Time{}
		for i, name := range names {
			begin := begins[i]
			available, ok := t.observer.availableAt(name)
			end := available
			if ok && t.contender.hasController() {
				end, ok = t.observer.readyAt(name, 1)
				s.reported = append(s.reported, measure.Milliseconds(max(0, end.Sub(available))))
			}
			if !ok {
				return fmt.Errorf("%s is not Ready", name)
			}
			s.ready = append(s.ready, measure.Milliseconds(end.Sub(begin)))
			if begin.Before(first) {
				first = begin
			}
			if end.After(last) {
				last = end
			}
		}
		return nil
	})
	s.seconds = last.Sub(first).Seconds()
	return err
}

// change changes Websites in turn at a constant rate, and measures until each change is
// observed. A change that was followed by another is observed with that one.
func (t *trial) change(ctx context.Context, scenario string, rate int, names []string) error {
	return t.measure(ctx, scenario, func(s *sample) error {
		type made struct {
			name       string
			generation int64
			at         time.Time
		}
		n, first := int(float64(rate)*t.Options.Duration.Seconds()), t.pins
		t.pins += n
		done := make([]made, n)
		begin := time.Now()
		// Each has its time, so that a slow server does not slow down the load.
		err := measure.Concurrently(n, t.Options.Clients, func(_, i int) error {
			name := names[i%len(names)]
			due := begin.Add(time.Duration(i) * time.Second / time.Duration(rate))
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Until(due)):
			}
			generation, err := t.patchPin(ctx, name, first+i)
			done[i] = made{name, generation, due}
			return err
		})
		if err != nil {
			return err
		}
		s.changes = n
		return await(ctx, "all changes are observed", t.patience(), func() error {
			s.ready = nil
			var last time.Time
			for _, change := range done {
				at, seen := t.observer.readyAt(change.name, change.generation)
				if !seen {
					return fmt.Errorf("generation %d of %s is not observed", change.generation, change.name)
				}
				s.ready = append(s.ready, measure.Milliseconds(at.Sub(change.at)))
				if at.After(last) {
					last = at
				}
			}
			s.seconds = last.Sub(begin).Seconds()
			return nil
		})
	})
}

// restart measures from the start of a new controller until it has reconciled all Websites.
func (t *trial) restart(ctx context.Context) error {
	if err := t.program.Stop(ctx); err != nil {
		return err
	}
	t.program = nil
	return t.measure(ctx, restart, func(s *sample) error {
		begin := time.Now()
		if err := t.startController(ctx, len(t.names)); err != nil {
			return err
		}
		s.seconds = time.Since(begin).Seconds()
		return nil
	})
}

// memory is the memory of the controller, if there is one.
func (t *trial) memory(ctx context.Context) (memory, error) {
	if t.program == nil {
		return memory{}, nil
	}
	return t.program.memory(ctx)
}
