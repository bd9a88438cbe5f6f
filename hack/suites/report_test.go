package main

import (
	"strings"
	"testing"
	"time"
)

func TestReport(t *testing.T) {
	unit := plan{
		suite: suite{name: "unit", about: "unit tests", budget: 5 * time.Minute}, tests: 12, last: 65 * time.Second,
	}
	scale := plan{suite: suite{name: "scale", about: "many", budget: 2 * time.Hour, long: true}, tests: 1}
	outcomes := []outcome{
		{plan: unit, started: true, took: 6 * time.Minute, results: results{
			passed: 9, skipped: 2, skips: []skip{{"TestB", "no nginx"}, {"TestA/x", "no nginx"}, {"TestA/x", "no nginx"}},
			unreliable: []unreliable{{"TestU", "slow disk", "late\n"}},
			failures:   []failure{{title: "TestF in m/p", output: "bad\n", alone: []string{"go test -run='^TestF$' ./p"}}},
		}},
		{plan: scale},
	}
	tests := map[string]struct {
		print func(out *strings.Builder)
		want  string
	}{
		"plans": {func(out *strings.Builder) { printPlans(out, []plan{unit, scale}) }, `
suite  tests  budget  last run  
unit   12     5m      1m5s      unit tests
scale  1      2h      -         many (long)
`},
		"running": {func(out *strings.Builder) {
			r := running{plan: unit, started: time.Now().Add(-30 * time.Second), show: &progress{}}
			r.show.ended("TestA", "pass")
			r.show.ended("TestF", "fail")
			s := running{plan: scale, started: time.Now().Add(-time.Minute), show: &progress{}}
			printRunning(out, []running{r, s})
		}, `
unit: 2 of 12 tests, 1 failed (TestF), 30s of about 1m5s
scale: 0 of 1 tests, 0 failed, 1m
`},
		"ended": {func(out *strings.Builder) { printEnded(out, outcomes[0]) }, `
unit: FAILED after 6m: 9 passed, 1 failed, 2 skipped
`},
		"outcomes": {func(out *strings.Builder) { printOutcomes(out, outcomes) }, `

suite  result   passed  failed  skipped  time  budget  
unit   FAILED   9       1       2        6m    5m      over budget
scale  not run  0       0       0        -     2h      

skipped:
  no nginx
    TestA/x, TestB

=== unreliable: TestU failed and passed when it ran again: slow disk
late

=== FAILED: TestF in m/p
bad
The output of all tests is in _artifacts/test/unit.log. To run only this:
  go test -run='^TestF$' ./p
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			test.print(&out)
			if got := "\n" + out.String(); got != test.want {
				t.Errorf("got:%s\nwant:%s", got, test.want)
			}
		})
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "-", 40 * time.Second: "40s", 65400 * time.Millisecond: "1m5s", 10 * time.Minute: "10m", 6 * time.Hour: "6h",
		90 * time.Minute: "1h30m", 2*time.Hour + time.Second: "2h0m1s", time.Millisecond: "0s",
	} {
		if got := short(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for name, test := range map[string]struct {
		lines, want int
		wantCut     bool
	}{
		"short": {lines: 400, want: 400}, "long": {lines: 1000, want: 401, wantCut: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := cut(strings.Repeat("x\n", test.lines))
			if strings.Count(got, "\n") != test.want || strings.Contains(got, "... 600 lines are in the log") != test.wantCut {
				t.Errorf("got %d lines:\n%s", strings.Count(got, "\n"), got)
			}
		})
	}
}

func TestDurations(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	d, err := userDurations()
	if err != nil {
		t.Fatal(err)
	}
	if got := d.of("unit"); got != 0 {
		t.Errorf("without a file: %s", got)
	}
	for suite, took := range map[string]time.Duration{"unit": 1500 * time.Millisecond, "e2e": time.Hour} {
		if err := d.write(suite, took); err != nil {
			t.Fatal(err)
		}
	}
	if d.of("unit") != 1500*time.Millisecond || d.of("e2e") != time.Hour || d.of("api") != 0 {
		t.Errorf("got %v", d.read())
	}
}
