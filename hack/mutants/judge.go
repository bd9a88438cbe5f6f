package main

import (
	"encoding/json"
	"io"
	"strings"
)

// verdict is the result of a run of one test.
type verdict string

const (
	failed      verdict = "failed"
	passed      verdict = "passed"
	skipped     verdict = "was skipped"
	notRun      verdict = "did not run"
	notCompiled verdict = "did not compile"
	timedOut    verdict = "timed out"
)

// judge returns the result of a test from the output of "go test -json", and the output as text.
// The failure of another test, or of the process before the test has begun, does not count as a
// failure of the test.
func judge(output io.Reader, name string) (verdict, string) {
	result, text := notRun, strings.Builder{}
	events := json.NewDecoder(output)
	for {
		var event struct{ Action, Test, Output string }
		if err := events.Decode(&event); err != nil {
			return result, text.String()
		}
		text.WriteString(event.Output)
		switch {
		case event.Action == "build-fail":
			result = notCompiled
		case strings.HasPrefix(event.Output, "panic: test timed out"):
			result = timedOut
		case event.Test != name || result == timedOut:
		case event.Action == "run", event.Action == "fail":
			// A process that ends within a test reports no result of it.
			result = failed
		case event.Action == "pass":
			result = passed
		case event.Action == "skip":
			result = skipped
		}
	}
}
