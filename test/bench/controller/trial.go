package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

const (
	// patiencePerWebsite bounds how long a trial may take, on a small machine under load.
	patiencePerWebsite = 2 * time.Second
	// quietTime is how long a controller must have sent no request after a scenario: longer
	// than website-controller delays a status.
	quietTime = 3 * time.Second
)

// trial is one contender in one round, with a namespace of its own.
type trial struct {
	*environment
	contender *contender
	round     int
	namespace string
	// websites is the path of its Websites.
	websites string
	observer *observer
	// program is nil for the floor.
	program *program
	// abort ends the trial when its controller does.
	abort context.CancelCauseFunc
	// names are the Websites created so far, pins is how often spec.pin was changed.
	names   []string
	pins    int
	samples []sample
}

// sample is one scenario of a trial.
type sample struct {
	scenario string
	// seconds is the time until all Websites are Ready, or the restarted controller has
	// reconciled all.
	seconds float64
	// ready are the milliseconds from each request until the Website is Ready with its spec,
	// reported those from the available Deployment to the Ready Website.
	ready, reported []float64
	calls           calls
	// cpu is the CPU time in seconds of the controller and of the other processes.
	cpu map[string]float64
	// changes is the number of changes in the scenario.
	changes int
	// neighbour is the milliseconds until a Website of another namespace has its Deployment; 0 if none was created.
	neighbour float64
	// heap and resident are the bytes that each Website has added.
	heap, resident float64
}

// run measures all scenarios and deletes the objects that they have created.
func (t *trial) run(ctx context.Context) (err error) {
	for _, namespace := range []string{t.namespace, t.neighbours()} {
		if err := t.client.CreateNamespace(ctx, namespace); err != nil {
			return err
		}
	}
	ctx, t.abort = context.WithCancelCause(ctx)
	defer t.abort(nil)
	watching, stop := context.WithCancel(ctx)
	t.observer = newObserver(func(err error) {
		if watching.Err() == nil {
			t.abort(err)
		}
	})
	var watches sync.WaitGroup
	defer watches.Wait()
	defer stop()
	if err := t.observe(watching, &watches); err != nil {
		return err
	}
	defer func() {
		if t.program != nil {
			err = errors.Join(err, t.program.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if t.contender.hasController() {
		if err := t.startController(ctx, 0); err != nil {
			return err
		}
	}
	if err := t.scenarios(ctx); err != nil {
		return fmt.Errorf("%s: %w", t.contender.name, err)
	}
	stop()
	// Without a controller, which would react to each deletion.
	if t.program != nil {
		stopped := t.program
		t.program = nil
		if err := stopped.Stop(ctx); err != nil {
			return err
		}
	}
	return errors.Join(t.deleteNamespace(ctx, t.namespace), t.deleteNamespace(ctx, t.neighbours()))
}

// observe begins the watches.
func (t *trial) observe(ctx context.Context, watches *sync.WaitGroup) error {
	deployments, err := watch(ctx, t.observer, t.client, "/apis/apps/v1/namespaces/"+t.namespace+"/deployments",
		t.observer.observeDeployment)
	if err != nil {
		return err
	}
	watches.Go(deployments)
	if !t.contender.hasController() {
		return nil
	}
	websites, err := watch(ctx, t.observer, t.client, t.websites, t.observer.observe)
	if err != nil {
		return err
	}
	watches.Go(websites)
	return nil
}

// startController starts the controller and waits until it has reconciled so many Websites.
func (t *trial) startController(ctx context.Context, websites int) (err error) {
	c := t.contender
	t.program, err = start(ctx, c, t.Cluster, t.kubeconfigs[c.user], t.scraper, t.abort)
	if err != nil {
		return err
	}
	return t.program.await(ctx, websites, startTimeout+t.patience())
}

// patience is how long anything may take that concerns all Websites.
func (t *trial) patience() time.Duration {
	return startTimeout + time.Duration(t.Options.Websites+t.Options.Flood)*patiencePerWebsite
}

// usage is the CPU and memory that the processes of a trial have used.
type usage struct {
	cpu   map[string]time.Duration
	calls calls
}

func (t *trial) usage() (usage, error) {
	var used usage
	watched := maps.Clone(t.processes)
	if t.program != nil {
		watched[controllerProcess] = t.program.PID()
	}
	var err error
	if used.cpu, err = watched.CPU(); err != nil {
		return used, err
	}
	used.calls, err = t.counter.of(t.contender.user)
	return used, err
}

// controllerProcess is the name of a controller among the processes.
const controllerProcess = "controller"

// measure runs one scenario, waits until the controller rests, and records its cost.
func (t *trial) measure(ctx context.Context, scenario string, run func(*sample) error) error {
	t.Progress("round %d of %d: %s: %s", t.round+1, t.Options.Rounds, t.contender.name, scenario)
	before, err := t.usage()
	if err != nil {
		return err
	}
	s := sample{scenario: scenario}
	if err := run(&s); err != nil {
		return fmt.Errorf("%s: %w", scenario, err)
	}
	if err := t.awaitRest(ctx); err != nil {
		return fmt.Errorf("%s: %w", scenario, err)
	}
	after, err := t.usage()
	if err != nil {
		return err
	}
	s.calls, s.cpu = after.calls.since(before.calls), map[string]float64{}
	for name, used := range after.cpu {
		// A process that was started meanwhile has used all of it here.
		s.cpu[name] = (used - before.cpu[name]).Seconds()
	}
	t.samples = append(t.samples, s)
	t.Progress("    %.1f s, %d requests, %.1f s CPU of the controller, ready p99 %s ms, reported p99 %s ms", s.seconds,
		sum(s.calls), s.cpu[controllerProcess],
		measure.Number(measure.Quantile(s.ready, 0.99)), measure.Number(measure.Quantile(s.reported, 0.99)))
	return nil
}

// awaitRest waits until the controller sends no more requests and its queue is empty. Its metrics are
// read only when it has been quiet, as it takes time to answer; without a controller, the same time passes.
func (t *trial) awaitRest(ctx context.Context) error {
	last, since := -1, time.Now()
	return await(ctx, "the controller rests", t.patience(), func() error {
		counted, err := t.counter.of(t.contender.user)
		if err != nil {
			return err
		}
		if n := sum(counted); n != last {
			last, since = n, time.Now()
		}
		if time.Since(since) < quietTime {
			return errors.New("it has just sent requests")
		}
		if t.program == nil {
			return nil
		}
		if q, err := t.program.queue(ctx); err != nil || !q.isEmpty() {
			since = time.Now()
			return fmt.Errorf("its queue is %+v: %v", q, err)
		}
		return nil
	})
}

// environment is what all trials share.
type environment struct {
	*measure.Run
	client      *measure.Client
	scraper     *measure.Client
	kube        kubernetes.Interface
	kubeconfigs map[string]string
	processes   measure.Processes
	counter     *callCounter
}

// measures reports whether a scenario is measured.
func (e *environment) measures(scenario string) bool {
	return slices.Contains(e.Options.Scenarios, scenario)
}

// await polls until there is no error.
func await(ctx context.Context, what string, timeout time.Duration, check func() error) error {
	return measure.Await(ctx, what, timeout, pollPeriod, check)
}
