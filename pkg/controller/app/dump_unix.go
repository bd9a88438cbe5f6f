//go:build unix

package app

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
)

// dumpOnSignal logs the stacks of all goroutines on each SIGUSR1 until ctx ends.
// The returned function waits until the signal handler is removed.
func dumpOnSignal(ctx context.Context) (wait func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer signal.Stop(signals)
		for {
			select {
			case <-signals:
				klog.FromContext(ctx).Info("Received SIGUSR1, dumping the stacks of all goroutines", "stacks", goroutines())
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { <-done }
}
