package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// lines are the events of a run, as go test -json prints them.
func lines(t *testing.T, events ...event) string {
	t.Helper()
	var b strings.Builder
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	return b.String()
}

// of is an event of a test in package m/p.
func of(action, test, output string) event {
	return event{Action: action, Package: "m/p", Test: test, Output: output}
}

func TestCollector(t *testing.T) {
	tests := map[string]struct {
		events []event
		// want are the counts, then the failures by title, leaves and output.
		want     string
		failures []failure
		skips    []skip
		done     int
	}{
		"passed": {
			events: []event{
				of("run", "TestA", ""), of("output", "TestA", "=== RUN   TestA\n"), of("run", "TestA/x", ""),
				of("pass", "TestA/x", ""), of("pass", "TestA", ""), of("output", "", "ok m/p\n"), of("pass", "", ""),
			},
			want: "1 passed, 0 failed, 0 skipped", done: 1,
		},
		"a subtest failed": {
			events: []event{
				of("run", "TestA", ""), of("output", "TestA", "set-up\n"),
				of("run", "TestA/x", ""), of("output", "TestA/x", "fine\n"),
				of("run", "TestA/y", ""), of("output", "TestA/y", "bad\n"), of("pass", "TestA/x", ""), of("fail", "TestA/y", ""),
				of("fail", "TestA", ""), of("output", "", "FAIL\n"), of("fail", "", ""),
			},
			want: "0 passed, 1 failed, 0 skipped", done: 1,
			failures: []failure{{title: "TestA in m/p", test: "TestA", leaves: []string{"TestA/y"}, output: "set-up\nbad\n"}},
		},
		"skipped": {
			events: []event{
				of("output", "TestA", "=== RUN   TestA\n"), of("output", "TestA", "    a_test.go:7: a log\n"),
				of("output", "TestA", "    a_test.go:9: no browser:\n"), of("output", "TestA", "        not found\n"),
				of("output", "TestA", "--- SKIP: TestA (0.00s)\n"), of("skip", "TestA", ""),
				of("output", "TestB/x", "--- SKIP: TestB/x (0.00s)\n"), of("skip", "TestB/x", ""),
				of("pass", "TestB", ""), of("pass", "", ""),
			},
			want: "1 passed, 0 failed, 1 skipped", done: 2,
			skips: []skip{{"TestA", "no browser: not found"}, {"TestB/x", "no reason"}},
		},
		"does not compile": {
			events: []event{
				{Action: "build-output", ImportPath: "m/p [m/p.test]", Output: "p_test.go:3: undefined: x\n"},
				{Action: "build-fail", ImportPath: "m/p [m/p.test]"}, of("output", "", "FAIL m/p [build failed]\n"),
				{Action: "fail", Package: "m/p", FailedBuild: "m/p [m/p.test]"},
			},
			want:     "0 passed, 1 failed, 0 skipped",
			failures: []failure{{title: "package m/p", output: "p_test.go:3: undefined: x\nFAIL m/p [build failed]\n"}},
		},
		"a panic ends other tests": {
			events: []event{
				of("run", "TestA", ""), of("run", "TestB", ""), of("output", "TestA", "panic: boom\n"),
				of("output", "TestB", "waiting\n"),
				of("fail", "TestA", ""), of("fail", "", ""),
			},
			want: "0 passed, 2 failed, 0 skipped", done: 1,
			failures: []failure{
				{title: "TestA in m/p", test: "TestA", leaves: []string{"TestA"}, output: "panic: boom\n"},
				{title: "package m/p ended before TestB", output: "waiting\n"},
			},
		},
		"a timeout": {
			events: []event{
				of("run", "TestA", ""), of("pass", "TestA", ""), of("run", "TestB", ""), of("run", "TestB/x", ""),
				of("output", "TestB/x", "panic: timed out\n"), of("output", "", "FAIL m/p 2.0s\n"), of("fail", "", ""),
			},
			want: "1 passed, 1 failed, 0 skipped", done: 1,
			failures: []failure{{title: "package m/p ended before TestB", output: "panic: timed out\nFAIL m/p 2.0s\n"}},
		},
		"TestMain failed": {
			events: []event{
				of("run", "TestA", ""), of("pass", "TestA", ""), of("output", "", "the check failed\n"), of("fail", "", ""),
			},
			want: "1 passed, 1 failed, 0 skipped", done: 1,
			failures: []failure{{title: "package m/p", output: "the check failed\n"}},
		},
		"go test was killed": {
			events: []event{of("run", "TestA", ""), of("pass", "TestA", ""), of("run", "TestB", "")},
			want:   "1 passed, 1 failed, 0 skipped", done: 1,
			failures: []failure{{title: "package m/p ended before TestB"}},
		},
		"no tests": {events: []event{of("start", "", ""), of("skip", "", "")}, want: "0 passed, 0 failed, 0 skipped"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			show := &progress{}
			c := newCollector(&log, show)
			// Output arrives in pieces of any size.
			for piece := range slices.Chunk([]byte(lines(t, test.events...)), 7) {
				if _, err := c.Write(piece); err != nil {
					t.Fatal(err)
				}
			}
			got := c.close()
			if got.counts() != test.want {
				t.Errorf("got %s, want %s", got.counts(), test.want)
			}
			if !slices.EqualFunc(got.failures, test.failures, func(a, b failure) bool {
				return a.title == b.title && a.test == b.test && a.output == b.output && slices.Equal(a.leaves, b.leaves)
			}) {
				t.Errorf("failures:\n%+v\nwant\n%+v", got.failures, test.failures)
			}
			if !slices.Equal(got.skips, test.skips) {
				t.Errorf("skips %q, want %q", got.skips, test.skips)
			}
			done, failed := show.read()
			if done != test.done || len(failed) != len(test.failures) {
				t.Errorf("%d tests are done, and %q failed, want %d and %d", done, failed, test.done, len(test.failures))
			}
			for _, e := range test.events {
				if !strings.Contains(log.String(), e.Output) {
					t.Errorf("the log lacks %q", e.Output)
				}
			}
		})
	}
}

func TestOutputThatIsNoEvent(t *testing.T) {
	var log strings.Builder
	c := newCollector(&log, &progress{})
	if _, err := c.Write([]byte("go: something\n")); err != nil {
		t.Fatal(err)
	}
	if c.other.String() != "go: something\n" || log.String() != "go: something\n" {
		t.Errorf("got %q, and %q in the log", c.other.String(), log.String())
	}
}
