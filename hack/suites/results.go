package main

import (
	"fmt"
	"slices"
	"sync"
)

// results belong to a step or a suite.
type results struct {
	passed, skipped int
	failures        []failure
	skips           []skip
	unreliable      []unreliable
	// cached is set if go test had the result of a package in its cache.
	cached bool
}

// failure is a top-level test or, without test, a package or suite that failed.
type failure struct {
	title, output    string
	importPath, test string
	// leaves are the failed tests and subtests without a failed subtest.
	leaves []string
	// alone are the commands that run them alone.
	alone []string
}

// skip is a test or subtest that was skipped.
type skip struct{ test, reason string }

// unreliable is a test that failed, and passed in its second run.
type unreliable struct{ test, reason, output string }

func (r *results) add(other results) {
	r.passed += other.passed
	r.skipped += other.skipped
	r.failures = append(r.failures, other.failures...)
	r.skips = append(r.skips, other.skips...)
	r.unreliable = append(r.unreliable, other.unreliable...)
	r.cached = r.cached || other.cached
}

func (r *results) counts() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", r.passed, len(r.failures), r.skipped)
}

// progress is the state of a running suite. Its suite writes it, the scheduler reads it.
type progress struct {
	mu     sync.Mutex
	done   int
	failed []string
}

// ended adds a test by its result, or a package that failed without one.
func (p *progress) ended(name, result string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if result != "" {
		p.done++
	}
	if result != "pass" && result != "skip" {
		p.failed = append(p.failed, name)
	}
}

func (p *progress) read() (done int, failed []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done, slices.Clone(p.failed)
}
