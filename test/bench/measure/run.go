package measure

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
)

// Run is one run of a benchmark.
type Run struct {
	Options Options
	Cluster *devcluster.Cluster
	begin   time.Time
}

// Start starts a cluster, has do measure, stops the cluster, and completes the head of the report. With an error, the
// report has the results until then, and none if Begin is zero.
func Start(ctx context.Context, head *Head, options Options, cluster devcluster.Options,
	do func(context.Context, *Run) error) (err error) {
	r := &Run{Options: options, begin: time.Now()}
	load := LoadAverage()
	r.Progress("starting a cluster")
	cluster.Progress = options.Progress
	if r.Cluster, err = devcluster.Up(ctx, cluster); err != nil {
		return err
	}
	defer func() {
		if stopped := r.Cluster.Stop(context.WithoutCancel(ctx)); err == nil {
			err = stopped
		}
	}()
	r.Progress("the cluster runs: KUBECONFIG=%s", r.Cluster.Kubeconfig())
	*head = Head{Options: options, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Begin: r.begin.UTC().Truncate(time.Second), LoadBefore: load}
	if err = do(ctx, r); err != nil {
		head.Failure = err.Error()
	}
	head.LoadAfter, head.Seconds = LoadAverage(), time.Since(r.begin).Seconds()
	return err
}

// Progress prints a step.
func (r *Run) Progress(format string, args ...any) {
	fmt.Fprintf(r.Options.Progress, "[%4.0f s] %s\n", time.Since(r.begin).Seconds(), fmt.Sprintf(format, args...))
}

// Processes are these programs of the cluster as they run now.
func (r *Run) Processes(names ...string) Processes {
	processes := Processes{}
	for _, name := range names {
		processes[name] = r.Cluster.Process(name).PID()
	}
	return processes
}

// Order is the order of n targets in a round. Every second round has the reversed order of the one before,
// so that no target always precedes the same other one; each pair of rounds is rotated.
func Order(n, round, rounds int) []int {
	pairs := (rounds + 1) / 2
	indexes := make([]int, n)
	for i := range indexes {
		indexes[i] = (i + round/2*max(1, n/pairs)) % n
	}
	if round%2 == 1 {
		slices.Reverse(indexes)
	}
	return indexes
}

// Concurrently calls do for each number below n, in this order, from several clients. It returns the first error,
// after which it begins no more.
func Concurrently(n, clients int, do func(client, i int) error) error {
	var next atomic.Int64
	var failure atomic.Pointer[error]
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && failure.Load() == nil; i = int(next.Add(1)) - 1 {
				if err := do(client, i); err != nil {
					failure.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	running.Wait()
	if err := failure.Load(); err != nil {
		return *err
	}
	return nil
}

// Await polls until there is no error.
func Await(ctx context.Context, what string, timeout, period time.Duration, check func() error) error {
	for begin := time.Now(); ; {
		err := check()
		if err == nil {
			return nil
		}
		if time.Since(begin) > timeout {
			return fmt.Errorf("waiting until %s took longer than %s: %w", what, timeout, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(period):
		}
	}
}
