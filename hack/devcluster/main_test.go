package devcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// If the first argument of the test binary is one of these roles, it runs as a component
// instead of running tests.
const (
	roleRuns      = "role-runs"     // runs until SIGTERM
	roleStubborn  = "role-stubborn" // ignores SIGTERM
	roleCrashes   = "role-crashes"  // writes to its log and fails
	roleParent    = "role-parent"   // starts a component in the directory named next, then waits to be killed
	roleCrashText = "cannot open the store: disk full"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case roleRuns:
			waitForSignal()
			os.Exit(0)
		case roleStubborn:
			signal.Ignore(syscall.SIGTERM)
			waitForSignal()
		case roleCrashes:
			fmt.Fprintln(os.Stderr, roleCrashText)
			os.Exit(3)
		case roleParent:
			p := newTestProcess(layout{dir: os.Args[2]}, "child", roleRuns)
			if err := p.Start(context.Background()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			waitForSignal()
		}
	}
	os.Exit(m.Run())
}

// waitForSignal returns after a signal. Once its signal handler is installed, it writes the
// file named by the second argument, if any.
func waitForSignal() {
	ch := make(chan os.Signal, 1)
	if signal.Ignored(syscall.SIGTERM) {
		signal.Notify(ch, os.Interrupt)
	} else {
		signal.Notify(ch, syscall.SIGTERM, os.Interrupt)
	}
	if len(os.Args) > 2 && os.Args[1] != roleParent {
		if err := os.WriteFile(os.Args[2], nil, 0o600); err != nil {
			os.Exit(1)
		}
	}
	<-ch
}

func newTestProcess(l layout, name string, args ...string) *Process {
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &Process{
		layout:       l,
		readyTimeout: 20 * time.Second,
		spec:         spec{name: name, path: program, args: args, ready: func(context.Context) error { return nil }},
	}
}

// newLayout creates a state directory. After the test, it kills the processes that are
// still recorded there.
func newLayout(t *testing.T) layout {
	t.Helper()
	l := layout{dir: filepath.Join(t.TempDir(), "state")}
	if err := l.make(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		names, err := recordedNames(l)
		if err != nil {
			t.Error(err)
		}
		for _, name := range names {
			if r, err := loadRecord(l, name); err == nil && r != nil {
				if err := r.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Error(err)
				}
			}
		}
	})
	return l
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatalf("timed out waiting until %s", what)
		case <-tick.C:
		}
	}
}
