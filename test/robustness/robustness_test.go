package robustness

import (
	"testing"
	"time"
)

// TestRobustness injects each fault under load.
func TestRobustness(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			if fault.long && !thorough() {
				t.Skip("another fault includes this one; -fault-time injects it")
			}
			injectUnderLoad(t, fault)
		})
	}
}

// progressInterval is how often a long run reports its progress.
const progressInterval = time.Minute

func injectUnderLoad(t *testing.T, fault fault) {
	r := &run{environment: newEnvironment(t, nil),
		phases: map[string]*phase{before: {}, during: {}, after: {}}, answers: served}
	if fault.refuses {
		r.answers = refused
	}
	// The first requests open connections.
	r.calm(calmTime() / 3)
	r.measure(before, func() { r.calm(calmTime()) })
	start, reported := time.Now(), time.Now()
	for round := 1; ; round++ {
		var err error
		if fault.refuses {
			// The fault measures itself, as servers close and open within seconds.
			err = fault.inject(r)
		} else {
			r.measure(during, func() { err = fault.inject(r) })
		}
		if err != nil {
			t.Errorf("injecting %s: %v", fault.name, err)
		}
		r.waitReady()
		r.measure(after, func() { r.calm(calmTime()) })
		if time.Since(start) >= *faultTime || t.Failed() {
			break
		}
		if time.Since(reported) >= progressInterval {
			reported = time.Now()
			t.Logf("%s: %d rounds in %s; requests per second: %.0f during, %.0f after the fault", fault.name, round,
				time.Since(start).Round(time.Second), r.phases[during].rate(), r.phases[after].rate())
		}
	}
	r.judge(t, fault)
}
