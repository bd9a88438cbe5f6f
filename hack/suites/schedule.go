package main

import (
	"context"
	"slices"
	"time"
)

// progressInterval is the time between two reports of the running suites.
const progressInterval = 15 * time.Second

// running is a suite that has started.
type running struct {
	plan
	started time.Time
	show    *progress
}

// outcome is a suite that has ended.
type outcome struct {
	plan
	results
	took time.Duration
	// started is false if the suite was skipped after an interrupt.
	started bool
}

// schedule runs suites, at most parallel at once, and returns when all have ended. After an
// interrupt it starts no more of them. ended and report are called one at a time.
func schedule(ctx context.Context, plans []plan, parallel int, run func(context.Context, plan, *progress) results,
	ended func(outcome), report func([]running)) []outcome {
	waiting := slices.Clone(plans)
	var now []running
	outcomes := map[string]outcome{}
	done := make(chan outcome)
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	for {
		for i := next(waiting, now, parallel); i >= 0 && ctx.Err() == nil; i = next(waiting, now, parallel) {
			r := running{plan: waiting[i], started: time.Now(), show: &progress{}}
			waiting = slices.Delete(waiting, i, i+1)
			now = append(now, r)
			go func() {
				found := run(ctx, r.plan, r.show)
				done <- outcome{plan: r.plan, results: found, took: time.Since(r.started), started: true}
			}()
		}
		if len(now) == 0 {
			break
		}
		select {
		case o := <-done:
			now = slices.DeleteFunc(now, func(r running) bool { return r.name == o.name })
			outcomes[o.name] = o
			ended(o)
		case <-tick.C:
			report(now)
		}
	}
	all := make([]outcome, 0, len(plans))
	for _, p := range plans {
		o := outcomes[p.name]
		o.plan = p
		all = append(all, o)
	}
	return all
}

// next returns the index of the suite that starts next, or -1 if another must end first.
func next(waiting []plan, now []running, parallel int) int {
	if len(now) >= parallel || slices.ContainsFunc(now, func(r running) bool { return r.alone }) {
		return -1
	}
	for i, p := range waiting {
		switch {
		case p.alone && len(now) > 0:
			// Later suites do not overtake it, or it would wait for all of them.
			return -1
		case p.needs == "", !slices.ContainsFunc(now, func(r running) bool { return r.needs == p.needs }):
			return i
		}
	}
	return -1
}
