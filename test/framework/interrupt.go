package framework

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/kubesites/website-apiserver/hack/devcluster"
)

// removeAtInterrupt makes an interrupt remove the cluster whose state is in a directory, and all of
// temp, before it ends the tests: the processes of a cluster of make up would outlive them. The
// returned function stops that.
func removeAtInterrupt(cluster, temp string) (stop func()) {
	interrupts, stopped := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-stopped:
		case got := <-interrupts:
			// Another interrupt ends the tests at once.
			signal.Stop(interrupts)
			ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
			defer cancel()
			err := errors.Join(devcluster.Down(ctx, cluster, func(string, ...any) {}), os.RemoveAll(temp))
			fmt.Fprintln(os.Stderr, errors.Join(fmt.Errorf("%v: the cluster of the tests is removed", got), err))
			os.Exit(1)
		}
	})
	return func() {
		signal.Stop(interrupts)
		close(stopped)
		waiting.Wait()
	}
}
