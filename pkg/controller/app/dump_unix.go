//go:build unix

package app

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/klog/v2"
)

// dumpOnSignal writes what every goroutine is doing to the log whenever SIGUSR1
// arrives, until ctx ends. The returned function waits for that.
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
