package devcluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// stopGrace is the time from SIGTERM to SIGKILL.
	stopGrace = 20 * time.Second
	// killGrace is the time limit for the end after SIGKILL.
	killGrace = 10 * time.Second
	// processPoll is the polling interval for conditions of processes.
	processPoll = 50 * time.Millisecond
)

// spec describes how to run one component.
type spec struct {
	name  string
	path  string
	args  []string
	ports []portUse
	// env are further variables, each NAME=value.
	env []string
	// isolated makes it the first process of a node, in new namespaces.
	isolated bool
	// within returns the first process of the node that it runs in; nil: it runs on
	// the host.
	within func() int
	// ready probes the component once.
	ready func(context.Context) error
}

type portUse struct {
	use    string
	number int
}

// argv returns the program and its arguments.
func (p *Process) argv() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Concat([]string{p.spec.path}, p.spec.args, p.extra)
}

// Process is one component of a cluster, also after restarts. All methods may be called
// concurrently.
type Process struct {
	spec         spec
	layout       layout
	detached     bool
	readyTimeout time.Duration
	grace        time.Duration // stopGrace, except in tests

	// changing is held while the process is being started or stopped.
	changing sync.Mutex

	mu sync.Mutex
	// extra are the flags of SetExtraArgs.
	extra []string
	// now is the running process or the last one; nil before the first start.
	now *run
}

// run is one run of a program, either our child or one started by an earlier command.
type run struct {
	record record
	// over is closed when the child process has ended; nil if it is not a child process.
	over chan struct{}
	exit Exit
	// intended is set by Stop and Kill: the end is not a crash then. Guarded
	// by Process.mu.
	intended bool
}

func (r *run) running() bool {
	if r.over == nil {
		return r.record.alive()
	}
	select {
	case <-r.over:
		return false
	default:
		return true
	}
}

// Exit is the end of a process.
type Exit struct {
	// Code is the exit code, or -1 if a signal ended the process or it is unknown.
	Code int
	// Text describes it: "exit status 1", "signal: killed".
	Text string
}

// Name is the component's name, such as "kube-apiserver".
func (p *Process) Name() string { return p.spec.name }

// Args are the program and its arguments.
func (p *Process) Args() []string { return p.argv() }

// SetExtraArgs replaces the arguments after the component's own, from the next
// start on.
func (p *Process) SetExtraArgs(args ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.extra = slices.Clone(args)
}

// SetProgram replaces the program, such as by another release's, from the next start on.
func (p *Process) SetProgram(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spec.path = path
}

// LogFile is the path of the process's output. Restarts append to it.
func (p *Process) LogFile() string { return p.layout.log(p.spec.name) }

// PID is the process id, or 0 if the process does not run.
func (p *Process) PID() int {
	if r := p.current(); r != nil && r.running() {
		return r.record.PID
	}
	return 0
}

// Running reports whether the process runs, ready or not.
func (p *Process) Running() bool { return p.PID() != 0 }

func (p *Process) current() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Crash returns a *ComponentError if the process has ended without Stop or Kill.
func (p *Process) Crash() error {
	p.mu.Lock()
	r := p.now
	intended := r != nil && r.intended
	p.mu.Unlock()
	if r == nil || intended || r.running() {
		return nil
	}
	return p.problem("%s", p.ended())
}

// adopt takes over a process that an earlier command started, if it still runs.
func (p *Process) adopt() error {
	r, err := loadRecord(p.layout, p.spec.name)
	if err != nil || r == nil || !r.alive() {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = &run{record: *r}
	return nil
}

// WaitReady waits until the component is ready. It fails with a *ComponentError if the
// process ends first, or after DefaultReadyTimeout.
func (p *Process) WaitReady(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 2*processPoll, p.readyTimeout, true, func(ctx context.Context) (bool, error) {
		if !p.Running() {
			return false, p.problem("%s before it was ready", p.ended())
		}
		// A server that accepts connections but never answers must not use up the time
		// in a single attempt.
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		last = p.spec.ready(ctx)
		return last == nil, nil
	})
	switch {
	case err == nil || ctx.Err() == nil && !wait.Interrupted(err):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("waiting for %s: %w", p.spec.name, context.Cause(ctx))
	default:
		return p.problem("is not ready after %s: %v", p.readyTimeout, last)
	}
}

// Wait waits until the process has ended and returns its exit, with code -1 for a process
// of an earlier command.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	r := p.current()
	if r == nil {
		return Exit{}, fmt.Errorf("waiting for the end of %s: it was never started", p.spec.name)
	}
	if r.over == nil {
		err := wait.PollUntilContextCancel(ctx, processPoll, true,
			func(context.Context) (bool, error) { return !r.running(), nil })
		if err != nil {
			return Exit{}, fmt.Errorf("waiting for the end of %s: %w", p.spec.name, err)
		}
		return Exit{Code: -1, Text: "exit status unknown"}, nil
	}
	select {
	case <-r.over:
		return r.exit, nil
	case <-ctx.Done():
		return Exit{}, fmt.Errorf("waiting for the end of %s: %w", p.spec.name, context.Cause(ctx))
	}
}

// ended describes how the last run ended.
func (p *Process) ended() string {
	r := p.current()
	if r == nil || r.over == nil || r.running() {
		return "ended"
	}
	return "ended (" + r.exit.Text + ")"
}
