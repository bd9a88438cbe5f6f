package robustness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/test/framework"
	"github.com/kubesites/website-apiserver/test/robustness/check"
	"github.com/kubesites/website-apiserver/test/robustness/history"
)

const (
	// minimumRate is the least number of answered requests per second before, during and after each
	// fault. Fewer prove little.
	minimumRate = 100
	// slowShare replaces it in the short form, as a share of the rate before the fault: a
	// loaded machine must not fail the test.
	slowShare = 0.1
)

// phase is a part of a run: before, during or after faults.
type phase struct {
	time     time.Duration
	answered int
}

func (p phase) rate() float64 {
	if p.time == 0 {
		return 0
	}
	return float64(p.answered) / p.time.Seconds()
}

// run is load with a fault in it.
type run struct {
	*environment
	phases map[string]*phase
	// answers selects the operations that count as answered.
	answers func(*history.Operation) bool
}

// names of phases.
const (
	before = "before"
	during = "during"
	after  = "after"
)

// served reports whether an operation was executed, or rejected for a reason from the store.
func served(o *history.Operation) bool { return o.Outcome != history.Unknown }

// measure adds a part of the run to a phase.
func (r *run) measure(name string, f func()) {
	from := r.recorder.Now()
	f()
	to := r.recorder.Now()
	p := r.phases[name]
	p.time += time.Duration(to - from)
	p.answered += r.recorder.Count(from, to, r.answers)
}

// calm lets the load run.
func (r *run) calm(d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.t.Context().Done():
		r.t.Fatal(context.Cause(r.t.Context()))
	}
}

// verdict is the result of a run.
type verdict struct {
	Fault      string             `json:"fault"`
	Rates      map[string]float64 `json:"requestsPerSecond"`
	Operations map[string]int     `json:"operations"`
	Unknown    int                `json:"operationsWithUnknownOutcome"`
	Changes    int                `json:"changes"`
	Watches    int                `json:"watches"`
	Events     int                `json:"events"`
	Bookmarks  int                `json:"bookmarks"`
	Expired    int                `json:"expiredWatches"`
	Violations []check.Violation  `json:"violations"`
}

// judge checks the history, fails the test if a guarantee is violated, and writes the report.
func (r *run) judge(t *testing.T, fault fault) {
	t.Helper()
	h := r.finish()
	v := verdict{Fault: fault.name, Rates: map[string]float64{}, Operations: map[string]int{}, Changes: len(h.Changes),
		Watches: len(h.Watches), Violations: check.Run(h)}
	for name, p := range r.phases {
		v.Rates[name] = p.rate()
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		v.Operations[string(o.Verb)+" "+string(o.Outcome)]++
		if o.Outcome == history.Unknown {
			v.Unknown++
		}
	}
	for _, w := range h.Watches {
		v.Events += len(w.Events)
		for _, event := range w.Events {
			if event.Type == history.Bookmark {
				v.Bookmarks++
			}
		}
		if w.Error != "" {
			v.Expired++
		}
	}
	for _, violation := range v.Violations {
		t.Errorf("%s", violation)
	}
	minimum := float64(minimumRate)
	if !thorough() {
		// The minimum is at least 1: otherwise a load that hardly worked before the fault would
		// prove nothing.
		minimum = max(1, min(minimum, slowShare*v.Rates[before]))
	}
	for name, rate := range v.Rates {
		if rate < minimum && (thorough() || name != during || !fault.stalls) {
			t.Errorf("%.0f requests per second were answered %s the fault, want at least %.0f", rate, name, minimum)
		}
	}
	t.Logf("requests per second: %.0f before, %.0f during, %.0f after the fault; operations: %v; %d changes, %d events "+
		"and %d bookmarks in %d watches, %d of them ended with an error",
		v.Rates[before], v.Rates[during], v.Rates[after], v.Operations, v.Changes, v.Events, v.Bookmarks,
		v.Watches, v.Expired)
	if !thorough() && !t.Failed() {
		return
	}
	if err := report(fault.name, v, h); err != nil {
		t.Error(err)
	}
}

// report writes the history and the result of a run.
func report(fault string, v verdict, h *history.History) error {
	dir := framework.Path("_artifacts", "robustness", fault)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("creating the directory of the report: %w", err)
	}
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the verdict: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "verdict.json"), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the verdict: %w", err)
	}
	name := ""
	for _, violation := range v.Violations {
		if violation.Name != "" {
			name = violation.Name
			break
		}
	}
	lines, err := os.Create(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		return fmt.Errorf("writing the history: %w", err)
	}
	defer lines.Close() //nolint:errcheck // Its error is checked below.
	if err := h.Write(lines); err != nil {
		return err
	}
	if err := lines.Close(); err != nil {
		return fmt.Errorf("writing the history: %w", err)
	}
	picture, err := os.Create(filepath.Join(dir, "linearizability.html"))
	if err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	defer picture.Close() //nolint:errcheck // Its error is checked below.
	if err := check.Picture(h, name, name != "", picture); err != nil {
		return err
	}
	if err := picture.Close(); err != nil {
		return fmt.Errorf("writing the picture: %w", err)
	}
	return nil
}
