//go:build unix

package app

import (
	"context"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

func TestDumpOnSignal(t *testing.T) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	ctx, stop := context.WithCancel(klog.NewContext(t.Context(), logger))
	ended := dumpOnSignal(ctx)
	signalled(t, logger, "TestDumpOnSignal")
	stop()
	ended()
}

// TestRunDumpsOnSignal is about the program, for which the signal is the end
// unless it asks for it.
func TestRunDumpsOnSignal(t *testing.T) {
	survive := make(chan os.Signal, 1)
	signal.Notify(survive, syscall.SIGUSR1)
	defer signal.Stop(survive)

	runs := make(chan struct{})
	running := sync.OnceFunc(func() { close(runs) })
	server := &apiServer{first: func(http.ResponseWriter, *http.Request, *request.RequestInfo) bool {
		running()
		return false
	}}
	o := server.newOptions(t)
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	stop := start(t, klog.NewContext(t.Context(), logger), func(ctx context.Context) error { return Run(ctx, o) })
	await(t, "the controller runs", runs)
	signalled(t, logger, "app.RunInstrumented")
	stop()
}

// signalled sends SIGUSR1 and waits until the stack of a function is in the log.
func signalled(t *testing.T, logger klog.Logger, function string) {
	t.Helper()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	underlier, ok := logger.GetSink().(ktesting.Underlier)
	if !ok {
		t.Fatal("the test's logger keeps nothing")
	}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true,
		func(context.Context) (bool, error) {
			return strings.Contains(underlier.GetBuffer().String(), function), nil
		})
	if err != nil {
		t.Errorf("no stack of %s in the log: %s", function, underlier.GetBuffer().String())
	}
}
