package bench

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

// run is one run of all measurements.
type run struct {
	*measure.Run
	environment *environment
	records     records
	// firsts are the first lists, by target.
	firsts map[string]sample
	report Report
}

// Run starts a cluster, measures, and stops the cluster. With an error, the report has the results
// until then.
func Run(ctx context.Context, options measure.Options) (measure.Report, error) {
	r := &run{firsts: map[string]sample{}}
	err := measure.Start(ctx, &r.report.Head, options,
		devcluster.Options{Node: devcluster.NodeSimulated, WithoutController: true, SyncedEtcd: true}, r.all)
	return &r.report, err
}

// all measures everything.
func (r *run) all(ctx context.Context, started *measure.Run) (err error) {
	r.Run = started
	if r.environment, err = newEnvironment(ctx, r.Cluster, r.Options, r.Cluster.RepoDir()); err != nil {
		return err
	}
	for _, t := range r.environment.targets {
		r.report.Targets = append(r.report.Targets, t.name)
	}
	for _, step := range []func(context.Context) error{r.populate, r.sizes, r.rounds} {
		if err = step(ctx); err != nil {
			break
		}
	}
	r.report.Measurements = r.records.measurements(r.report.Targets)
	addGoals(&r.report)
	if err != nil || !r.Options.Quick {
		return err
	}
	if !areQuick(r.Options) {
		r.Progress("ratios were not compared: the ranges are for the defaults of --quick")
		return nil
	}
	ranges, err := Ranges()
	if err != nil {
		return err
	}
	if worse := r.report.Compare(ranges); worse > 0 {
		return fmt.Errorf("%d of %d ratios got worse", worse, len(ranges))
	}
	return nil
}

// populate creates the objects that are listed, and takes the memory that they add.
func (r *run) populate(ctx context.Context) error {
	for _, t := range r.environment.targets {
		if !t.populates {
			if err := r.define(ctx, t); err != nil {
				return err
			}
			continue
		}
		before, err := r.heaps(ctx)
		if err != nil {
			return err
		}
		n := r.Options.Websites * len(dataNamespaces)
		r.Progress("creating %d objects: %s", n, t.data)
		if err := r.define(ctx, t); err != nil {
			return err
		}
		err = measure.Concurrently(n, r.Options.Clients, func(connection, i int) error {
			name, namespace := fmt.Sprintf("bench-%d", i), dataNamespaces[i%len(dataNamespaces)]
			if err := t.create(ctx, connection, namespace, name); err != nil {
				return err
			}
			return t.report(ctx, connection, namespace, name)
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

// define creates the definition of a target that has one, and waits until its API answers.
func (r *run) define(ctx context.Context, t *target) error {
	if t.definition == nil {
		return nil
	}
	if err := t.client.CreateDefinition(ctx, t.definition); err != nil {
		return err
	}
	return measure.Await(ctx, "the API of the definition answers", time.Minute, 100*time.Millisecond, func() error {
		_, err := t.client.Read(ctx,
			measure.Request{Method: http.MethodGet, Path: t.path(dataNamespaces[0], "", ""), Accept: t.media})
		return err
	})
}

// heaps collects the garbage of both API servers, and returns their live heaps.
func (r *run) heaps(ctx context.Context) (map[string]int64, error) {
	heaps := map[string]int64{}
	for name, c := range map[string]*measure.Client{"kube-apiserver": r.environment.proxied,
		"website-apiserver": r.environment.direct} {
		var err error
		if heaps[name], err = c.LiveHeap(ctx, ""); err != nil {
			return nil, fmt.Errorf("reading the heap of %s: %w", name, err)
		}
	}
	return heaps, nil
}

// added returns the growth of the live heaps since before.
func (r *run) added(ctx context.Context, before map[string]int64) (map[string]int64, error) {
	heaps, err := r.heaps(ctx)
	for name := range heaps {
		heaps[name] -= before[name]
	}
	return heaps, err
}

// sizes takes the encoded size of an object in each API.
func (r *run) sizes(ctx context.Context) error {
	r.report.EncodedBytes = map[string]int{}
	for _, t := range r.environment.targets {
		if t.data == "" {
			found, err := t.encodedSizes(ctx)
			if err != nil {
				return err
			}
			r.report.EncodedBytes[t.name] = found.reported
			continue
		}
		body, err := t.client.Read(ctx, measure.Request{Method: http.MethodGet,
			Path:   t.path(dataNamespaces[0], "bench-0", ""),
			Accept: t.media})
		if err != nil {
			return err
		}
		r.report.EncodedBytes[t.name] = len(body)
	}
	return nil
}

// rounds measures all targets in each round.
func (r *run) rounds(ctx context.Context) error {
	targets := r.environment.targets
	for round := range r.Options.Rounds {
		for _, i := range measure.Order(len(targets), round, r.Options.Rounds) {
			t := targets[i]
			r.Progress("round %d of %d: %s", round+1, r.Options.Rounds, t.name)
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
	groups := []func() error{
		func() error { return r.watches(ctx, t, round) },
		func() error { return r.lists(ctx, t) },
		func() error { return r.watchList(ctx, t) },
	}
	if t.data == "" {
		groups = groups[:1]
	}
	for _, group := range groups {
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
	for _, watchers := range r.Options.Watchers {
		if err := r.fanOut(ctx, t, watchers, round); err != nil {
			return err
		}
	}
	return nil
}
