package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Signal sends a signal, for example SIGSTOP to make the component hang. It
// returns os.ErrProcessDone if the process does not run.
func (p *Process) Signal(sig syscall.Signal) error {
	r := p.current()
	if r == nil || !r.running() {
		return os.ErrProcessDone
	}
	return r.record.signal(sig)
}

// Kill ends the process with SIGKILL and waits for its end. It returns no error if the process does
// not run.
func (p *Process) Kill(ctx context.Context) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	return p.end(ctx, syscall.SIGKILL, killGrace)
}

// Stop ends the process with SIGTERM, and with SIGKILL if it does not end within 20
// seconds, and waits for its end. It returns no error if the process does not run.
func (p *Process) Stop(ctx context.Context) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	return p.stop(ctx)
}

func (p *Process) stop(ctx context.Context) error {
	grace := p.grace
	if grace == 0 {
		grace = stopGrace
	}
	err := p.end(ctx, syscall.SIGTERM, grace)
	// SIGKILL follows even if ctx has ended, so that no process is left running.
	if err != nil {
		err = p.end(context.WithoutCancel(ctx), syscall.SIGKILL, killGrace)
	}
	return err
}

func (p *Process) end(ctx context.Context, sig syscall.Signal, grace time.Duration) error {
	p.mu.Lock()
	if p.now != nil {
		p.now.intended = true
	}
	p.mu.Unlock()
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	// A process stopped with SIGSTOP does not receive SIGTERM before it continues.
	if err := p.Signal(syscall.SIGCONT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if r := p.current(); r != nil {
		ctx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		if _, err := p.Wait(ctx); err != nil {
			return fmt.Errorf("%s did not end within %s of %s: %w", p.spec.name, grace, sig, err)
		}
	}
	if err := os.Remove(p.layout.record(p.spec.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forgetting the stopped %s: %w", p.spec.name, err)
	}
	return nil
}

// Restart stops the process if it runs, starts it and waits until it is ready.
func (p *Process) Restart(ctx context.Context) error {
	if err := p.Stop(ctx); err != nil {
		return err
	}
	if err := p.Start(ctx); err != nil {
		return err
	}
	return p.WaitReady(ctx)
}
