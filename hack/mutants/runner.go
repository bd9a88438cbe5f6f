package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// stopTimeout is the time for a test to stop its cluster when the run is interrupted.
const stopTimeout = 2 * time.Minute

// errNotReverted makes a copy of the checkout unusable for other mutants.
var errNotReverted = errors.New("the patch cannot be reverted")

// runner tries mutants in a copy of the checkout.
type runner struct {
	checkout
	// all runs each test of a mutant, instead of the first one only.
	all bool
	// baseline runs each test without a mutant first.
	baseline bool
	timeout  time.Duration
	// logs is the directory of the outputs of tests.
	logs string
	// sound are the tests that pass without a mutant.
	sound map[test]bool
}

// try returns the tests that catch a mutant, or an error with the reason why none does.
func (r *runner) try(ctx context.Context, path string) (caught []string, err error) {
	m, err := read(path)
	if err != nil {
		return nil, err
	}
	tests := m.tests[:1]
	if r.all {
		tests = m.tests
	}
	for _, t := range tests {
		if err := r.check(ctx, t, m.name); err != nil {
			return nil, err
		}
	}
	if err := r.apply(m); err != nil {
		return nil, fmt.Errorf("does not apply: %w", err)
	}
	defer func() {
		if reverse := r.apply(m, "--reverse"); reverse != nil {
			err = errors.Join(err, errNotReverted, reverse)
		}
	}()
	if err := r.compile(m); err != nil {
		return nil, fmt.Errorf("does not compile: %w", err)
	}
	for i, t := range tests {
		verdict, err := r.run(ctx, t, fmt.Sprintf("%s-%d.log", m.name, i+1))
		switch {
		case err != nil:
			return nil, err
		case verdict == passed:
			return nil, fmt.Errorf("SURVIVED %s", t.name)
		case verdict != failed:
			return nil, fmt.Errorf("%s %s", t.name, verdict)
		}
		caught = append(caught, t.name)
	}
	return caught, nil
}

// check returns an error if a test fails without a mutant.
func (r *runner) check(ctx context.Context, t test, mutant string) error {
	if !t.exists(r.dir) {
		return fmt.Errorf("test missing: no %s in %s of the module %s", t.name, t.pkg, t.module)
	}
	if !r.baseline || r.sound[t] {
		return nil
	}
	verdict, err := r.run(ctx, t, mutant+"-baseline.log")
	if err == nil && verdict != passed {
		err = fmt.Errorf("%s %s without the mutant", t.name, verdict)
	}
	if err == nil {
		r.sound[t] = true
	}
	return err
}

// run runs one test, and keeps its output.
func (r *runner) run(ctx context.Context, t test, log string) (verdict, error) {
	args := []string{"test", "-json", "-vet=off", "-count=1", "-timeout=" + r.timeout.String(),
		"-run=" + t.pattern(), t.pkg}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(r.dir, t.module)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	var output, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &complaints
	result := cmd.Run()
	if exit := (*exec.ExitError)(nil); result != nil && !errors.As(result, &exit) || ctx.Err() != nil {
		return "", errors.Join(result, ctx.Err())
	}
	verdict, text := judge(&output, t.name)
	text = fmt.Sprintf("%s\n%s%s%s %s\n", cmd, text, complaints.String(), t.name, verdict)
	return verdict, os.WriteFile(filepath.Join(r.logs, log), []byte(text), 0o644)
}
