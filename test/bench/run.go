package bench

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// run is one run of all measurements.
type run struct {
	options     Options
	environment *environment
	records     records
	// firsts are the first lists, by target.
	firsts map[string]sample
	report Report
	begin  time.Time
}

// Run starts a cluster, measures, and stops the cluster. With an error, the report has what was measured
// until then, or is nil.
func Run(ctx context.Context, options Options) (report *Report, err error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	r := &run{options: options, firsts: map[string]sample{}, begin: time.Now()}
	r.report = Report{Options: options, CPUs: runtime.NumCPU(), Go: runtime.Version(),
		Begin: r.begin.UTC().Truncate(time.Second), LoadBefore: measure.LoadAverage()}
	r.progress("starting a cluster")
	cluster, err := devcluster.Up(ctx, devcluster.Options{Node: devcluster.NodeSimulated, WithoutController: true,
		SyncedEtcd: true, Progress: options.Progress})
	if err != nil {
		return nil, err
	}
	defer func() {
		if stopped := cluster.Stop(context.WithoutCancel(ctx)); err == nil {
			err = stopped
		}
	}()
	r.progress("the cluster runs: KUBECONFIG=%s", cluster.Kubeconfig())
	if r.environment, err = newEnvironment(ctx, cluster, options, cluster.RepoDir()); err != nil {
		return nil, err
	}
	for _, t := range r.environment.targets {
		r.report.Targets = append(r.report.Targets, t.name)
	}
	failure := r.all(ctx)
	if failure != nil {
		r.report.Failure = failure.Error()
	}
	r.report.Measurements = r.records.measurements(r.report.Targets)
	r.report.Goals = goals(&r.report)
	r.report.LoadAfter, r.report.Seconds = measure.LoadAverage(), time.Since(r.begin).Seconds()
	return &r.report, failure
}

// all measures everything.
func (r *run) all(ctx context.Context) error {
	for _, step := range []func(context.Context) error{r.populate, r.sizes, r.rounds} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) progress(format string, args ...any) {
	fmt.Fprintf(r.options.Progress, "[%4.0f s] %s\n", time.Since(r.begin).Seconds(), fmt.Sprintf(format, args...))
}

// populate creates the objects that are listed, and takes the memory that they add.
func (r *run) populate(ctx context.Context) error {
	for _, t := range r.environment.targets {
		if !t.populates {
			continue
		}
		before, err := r.heaps(ctx)
		if err != nil {
			return err
		}
		n := r.options.Objects * len(dataNamespaces)
		r.progress("creating %d objects: %s", n, t.data)
		if t.data == "definition" {
			if err := r.environment.createDefinition(ctx); err != nil {
				return err
			}
			if err := t.awaitAPI(ctx); err != nil {
				return err
			}
		}
		_, err = concurrently(n, r.options.Clients, func(connection, i int) (response, error) {
			name, namespace := fmt.Sprintf("bench-%d", i), dataNamespaces[i%len(dataNamespaces)]
			if err := t.create(ctx, connection, namespace, name); err != nil {
				return response{}, err
			}
			return response{}, t.report(ctx, connection, namespace, name)
		})
		if err != nil {
			return fmt.Errorf("creating the objects to list: %w", err)
		}
		size := DataSize{Data: t.data, Objects: n}
		if size.HeapBytes, err = r.added(ctx, before); err != nil {
			return err
		}
		if err := r.firstLists(ctx, t.data); err != nil {
			return err
		}
		if size.ListedHeapBytes, err = r.added(ctx, before); err != nil {
			return err
		}
		at := r.environment.prefixes[t.data]
		if size.StoredBytes, err = storedBytes(ctx, at.endpoint, at.tls, at.prefix); err != nil {
			return err
		}
		r.report.Data = append(r.report.Data, size)
	}
	return nil
}

// awaitAPI waits until a new API answers.
func (t *target) awaitAPI(ctx context.Context) error {
	const timeout = time.Minute
	deadline := time.Now().Add(timeout)
	for {
		_, err := t.client.read(ctx, request{method: http.MethodGet, path: t.path(dataNamespaces[0], "", ""),
			accept: t.media})
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the API is not there after %s: %w", timeout, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// heaps collects the garbage of both API servers, and returns their live heaps.
func (r *run) heaps(ctx context.Context) (map[string]int64, error) {
	heaps := map[string]int64{}
	for name, c := range map[string]*client{"kube-apiserver": r.environment.proxied,
		"website-apiserver": r.environment.direct} {
		var err error
		if heaps[name], err = liveHeap(ctx, c); err != nil {
			return nil, fmt.Errorf("reading the heap of %s: %w", name, err)
		}
	}
	return heaps, nil
}

// added returns what the live heaps have grown by since before.
func (r *run) added(ctx context.Context, before map[string]int64) (map[string]int64, error) {
	heaps, err := r.heaps(ctx)
	for name := range heaps {
		heaps[name] -= before[name]
	}
	return heaps, err
}

// liveHeap returns the bytes on the heap of a server after a garbage collection.
func liveHeap(ctx context.Context, c *client) (int64, error) {
	profile, err := c.read(ctx, request{method: http.MethodGet, path: "/debug/pprof/heap?gc=1&debug=1", accept: "*/*"})
	if err != nil {
		return 0, err
	}
	return measure.LiveHeap(profile)
}

// sizes takes the encoded size of an object in each API.
func (r *run) sizes(ctx context.Context) error {
	r.report.EncodedBytes = map[string]int{}
	for _, t := range r.environment.targets {
		body, err := t.client.read(ctx, request{method: http.MethodGet, path: t.path(dataNamespaces[0], "bench-0", ""),
			accept: t.media})
		if err != nil {
			return err
		}
		r.report.EncodedBytes[t.name] = len(body)
	}
	return nil
}

// Order is the order of n targets in a round. Every second round has that of the one before,
// reversed, so that no target always precedes the same other one; each pair of rounds is rotated.
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

// rounds measures all targets in each round.
func (r *run) rounds(ctx context.Context) error {
	targets := r.environment.targets
	for round := range r.options.Rounds {
		for _, i := range Order(len(targets), round, r.options.Rounds) {
			t := targets[i]
			r.progress("round %d of %d: %s", round+1, r.options.Rounds, t.name)
			if err := r.target(ctx, t, round); err != nil {
				return err
			}
		}
		current, peak, err := r.environment.processes.Memory()
		if err != nil {
			return err
		}
		r.report.Memory = append(r.report.Memory, Memory{Round: round + 1, Bytes: current, PeakBytes: peak})
	}
	return nil
}

// target measures one target in one round. Garbage is collected before each group of operations, and
// by objects before each of theirs, so that none pays for another.
func (r *run) target(ctx context.Context, t *target, round int) error {
	if err := r.objects(ctx, t, round); err != nil {
		return err
	}
	for _, group := range []func() error{
		func() error { return r.watches(ctx, t, round) },
		func() error { return r.lists(ctx, t) },
		func() error { return r.watchList(ctx, t) },
	} {
		if _, err := r.heaps(ctx); err != nil {
			return err
		}
		if err := group(); err != nil {
			return err
		}
	}
	return nil
}

// watches measures the watches of one target.
func (r *run) watches(ctx context.Context, t *target, round int) error {
	for _, watchers := range r.options.Watchers {
		if err := r.fanOut(ctx, t, watchers, round); err != nil {
			return err
		}
	}
	return nil
}
