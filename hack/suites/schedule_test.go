package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestNext(t *testing.T) {
	free, onNode, alone := plan{}, plan{suite: suite{needs: node}}, plan{suite: suite{alone: true}}
	tests := map[string]struct {
		waiting, now []plan
		parallel     int
		want         int
	}{
		"nothing waits":                   {parallel: 2, want: -1},
		"the first":                       {waiting: []plan{free, free}, parallel: 2, want: 0},
		"all slots are taken":             {waiting: []plan{free}, now: []plan{free, free}, parallel: 2, want: -1},
		"one slot is free":                {waiting: []plan{onNode}, now: []plan{free}, parallel: 2, want: 0},
		"the node is taken":               {waiting: []plan{onNode}, now: []plan{onNode}, parallel: 2, want: -1},
		"one that needs no node":          {waiting: []plan{onNode, free}, now: []plan{onNode}, parallel: 2, want: 1},
		"alone":                           {waiting: []plan{alone, free}, parallel: 2, want: 0},
		"alone waits, and others with it": {waiting: []plan{alone, free}, now: []plan{free}, parallel: 2, want: -1},
		"beside one that is alone":        {waiting: []plan{free}, now: []plan{alone}, parallel: 2, want: -1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var now []running
			for _, p := range test.now {
				now = append(now, running{plan: p})
			}
			if got := next(test.waiting, now, test.parallel); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// minutes returns suites with these durations.
func minutes(names string, needs map[string]string, took map[string]int,
) ([]plan, func(context.Context, plan, *progress) results) {
	var plans []plan
	for _, name := range strings.Fields(names) {
		plans = append(plans, plan{suite: suite{name: name, needs: needs[name]}})
	}
	return plans, func(ctx context.Context, p plan, show *progress) results {
		select {
		case <-time.After(time.Duration(took[p.name]) * time.Minute):
			return results{passed: 1}
		case <-ctx.Done():
			return results{failures: []failure{{title: p.name}}}
		}
	}
}

func TestSchedule(t *testing.T) {
	tests := map[string]struct {
		suites   string
		needs    map[string]string
		took     map[string]int
		parallel int
		// want are the suites in the order of their ends, with the minute.
		want string
	}{
		"one at a time": {suites: "a b", took: map[string]int{"a": 2, "b": 1}, parallel: 1, want: "a@2 b@3"},
		"two at once":   {suites: "a b c", took: map[string]int{"a": 3, "b": 1, "c": 1}, parallel: 2, want: "b@1 c@2 a@3"},
		"one node": {
			suites: "a b c", needs: map[string]string{"a": node, "b": node}, took: map[string]int{"a": 2, "b": 2, "c": 1},
			parallel: 2, want: "c@1 a@2 b@4",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				plans, run := minutes(test.suites, test.needs, test.took)
				var got []string
				reports := 0
				outcomes := schedule(t.Context(), plans, test.parallel, run, func(o outcome) {
					got = append(got, o.name+"@"+strings.TrimSuffix(short(time.Since(start)), "m"))
				}, func([]running) { reports++ })
				if strings.Join(got, " ") != test.want {
					t.Errorf("ended %q, want %q", got, test.want)
				}
				if want := int(time.Since(start) / progressInterval); reports < want-1 || reports > want {
					t.Errorf("%d reports in %s, want one in %s", reports, time.Since(start), progressInterval)
				}
				for _, o := range outcomes {
					if !o.started || o.verdict() != "passed" || o.took != time.Duration(test.took[o.name])*time.Minute {
						t.Errorf("suite %s: %s after %s", o.name, o.verdict(), o.took)
					}
				}
			})
		})
	}
}

func TestScheduleEndsAfterAnInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancelCause(t.Context())
		plans, run := minutes("a b c", nil, map[string]int{"a": 1, "b": 9, "c": 1})
		outcomes := schedule(ctx, plans, 1, run, func(o outcome) {
			if o.name == "a" {
				time.AfterFunc(time.Minute, func() { interrupt(errors.New("interrupted")) })
			}
		}, func([]running) {})
		var got []string
		for _, o := range outcomes {
			got = append(got, o.name+" "+o.verdict())
		}
		if want := []string{"a passed", "b FAILED", "c not run"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
