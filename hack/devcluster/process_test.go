package devcluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestProcessLife(t *testing.T) {
	ctx := t.Context()
	l := newLayout(t)
	p := newTestProcess(l, "component", roleRuns)
	if p.Running() || p.PID() != 0 {
		t.Fatal("a process that was never started counts as running")
	}
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	first := p.PID()
	if first == 0 || syscall.Kill(first, 0) != nil {
		t.Fatalf("pid %d does not run", first)
	}
	if err := p.Start(ctx); err != nil || p.PID() != first {
		t.Errorf("a second Start replaced pid %d by %d (%v)", first, p.PID(), err)
	}
	if err := p.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if p.PID() == first || p.PID() == 0 {
		t.Errorf("pid after Restart is %d, before it was %d", p.PID(), first)
	}
	if err := p.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(ctx)
	if err != nil || exit.Code != -1 || exit.Text != "signal: killed" {
		t.Errorf("Wait after Kill = %+v, %v", exit, err)
	}
	if isFile(l.record("component")) {
		t.Error("the record of an ended process is still there")
	}
	if err := p.Stop(ctx); err != nil {
		t.Errorf("stopping an ended process: %v", err)
	}
}

func TestStopEndsGracefullyFirst(t *testing.T) {
	ctx := t.Context()
	l := newLayout(t)
	marker := filepath.Join(l.dir, "listens")
	p := newTestProcess(l, "component", roleRuns, marker)
	if err := p.Start(ctx); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the component handles SIGTERM", func() bool { return isFile(marker) })
	if err := p.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(ctx); err != nil || exit.Code != 0 {
		t.Errorf("exit = %+v, %v, want 0: SIGTERM was not used", exit, err)
	}
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	tests := map[string]func(p *Process) error{
		"ignoring":  func(*Process) error { return nil },
		"suspended": func(p *Process) error { return p.Signal(syscall.SIGSTOP) },
	}
	for name, before := range tests {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			l := newLayout(t)
			marker := filepath.Join(l.dir, "ignores")
			p := newTestProcess(l, "component", roleStubborn, marker)
			p.grace = 100 * time.Millisecond
			if err := p.Start(ctx); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the component ignores SIGTERM", func() bool { return isFile(marker) })
			if err := before(p); err != nil {
				t.Fatal(err)
			}
			pid := p.PID()
			if err := p.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			if syscall.Kill(pid, 0) == nil {
				t.Errorf("pid %d still runs", pid)
			}
		})
	}
}

func TestCrashIsReportedWithComponentAndLog(t *testing.T) {
	l := newLayout(t)
	p := newTestProcess(l, "kube-scheduler", roleCrashes)
	if err := os.WriteFile(p.LogFile(), []byte("line of an earlier run\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.spec.ready = func(context.Context) error { return errors.New("connection refused") }
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := p.WaitReady(t.Context())
	var problem *ComponentError
	if !errors.As(err, &problem) {
		t.Fatalf("WaitReady = %v, want a *ComponentError", err)
	}
	for _, want := range []string{"kube-scheduler", "exit status 3", l.log("kube-scheduler"), roleCrashText} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("message lacks %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "earlier run") {
		t.Errorf("message shows an earlier run's log:\n%v", err)
	}
}

func TestNotReadyIsReportedWithTheLastReason(t *testing.T) {
	p := newTestProcess(newLayout(t), "etcd", roleRuns)
	p.readyTimeout = 300 * time.Millisecond
	p.spec.ready = func(context.Context) error { return errors.New("answers 503: no leader") }
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := p.WaitReady(t.Context())
	if err == nil || !strings.Contains(err.Error(), "etcd is not ready") || !strings.Contains(err.Error(), "no leader") {
		t.Errorf("WaitReady = %v", err)
	}
	if !p.Running() {
		t.Error("the component was ended")
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWaitReadyEndsWithItsContext(t *testing.T) {
	p := newTestProcess(newLayout(t), "etcd", roleRuns)
	p.spec.ready = func(context.Context) error { return errors.New("not yet") }
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.WaitReady(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("WaitReady = %v, want context.Canceled", err)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLaterCommandAdoptsAndStops(t *testing.T) {
	ctx := t.Context()
	l := newLayout(t)
	first := newTestProcess(l, "component", roleRuns)
	first.detached = true
	if err := first.Start(ctx); err != nil {
		t.Fatal(err)
	}
	second := newTestProcess(l, "component", roleRuns)
	if err := second.adopt(); err != nil {
		t.Fatal(err)
	}
	if second.PID() != first.PID() {
		t.Fatalf("adopted pid %d, want %d", second.PID(), first.PID())
	}
	if err := second.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first one knows that its child has ended", func() bool { return !first.Running() })
}

func writeTestFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestChildrenDieWithAKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties the life of a child to its parent's")
	}
	l := newLayout(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(program, roleParent, l.dir)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var child *record
	eventually(t, "the parent has started its child", func() bool {
		child, err = loadRecord(l, "child")
		return err == nil && child != nil
	})
	if !child.alive() {
		t.Fatal("the child does not run")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	eventually(t, "the child has died with its parent", func() bool { return !child.alive() })
}
