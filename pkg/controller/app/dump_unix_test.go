//go:build unix

package app

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

func TestDumpOnSignal(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	ctx, stop := context.WithCancel(klog.NewContext(t.Context(), logger))
	wait := dumpOnSignal(ctx)
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	underlier, ok := logger.GetSink().(ktesting.Underlier)
	if !ok {
		t.Fatal("the test's logger keeps nothing")
	}
	deadline := time.After(10 * time.Second)
	for !strings.Contains(underlier.GetBuffer().String(), "TestDumpOnSignal") {
		select {
		case <-deadline:
			t.Fatalf("no stack of this test in the log: %s", underlier.GetBuffer().String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	stop()
	wait()
}
