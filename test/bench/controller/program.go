package controller

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kubesites/website-apiserver/hack/devcluster"
	"github.com/kubesites/website-apiserver/test/bench/measure"
)

const (
	startTimeout = 2 * time.Minute
	// Metrics are read first every pollPeriod, then less often: reading them takes CPU time that is measured. The time
	// at which a queue has become empty is known to within a twentieth.
	pollPeriod = 100 * time.Millisecond
	pollShare  = 20
)

// program is a running controller.
type program struct {
	*devcluster.Process
	contender *contender
	client    *measure.Client
	ports     [2]string
}

// start starts the controller of a contender. crashed is called if it ends by itself.
func start(ctx context.Context, c *contender, cluster *devcluster.Cluster, kubeconfig string, scraper *measure.Client,
	crashed func(error)) (*program, error) {
	p := &program{contender: c, client: scraper}
	for i := range p.ports {
		port, err := cluster.FreePort()
		if err != nil {
			return nil, err
		}
		p.ports[i] = strconv.Itoa(port)
	}
	var err error
	p.Process, err = cluster.StartProgram(ctx, c.program, filepath.Join(cluster.RepoDir(), "bin", c.program),
		c.flags(kubeconfig, p.ports)...)
	if err != nil {
		return nil, err
	}
	go func() {
		_, err := p.Wait(context.WithoutCancel(ctx))
		if err == nil {
			err = p.Crash()
		}
		if err != nil {
			crashed(err)
		}
	}()
	return p, nil
}

// queue is the state of the work queue.
type queue struct {
	// leads is true once the controller holds its lease.
	leads bool
	// waiting and running are keys in the queue and with workers, done is how many were
	// reconciled.
	waiting, running, done float64
}

func (q queue) isEmpty() bool { return q.leads && q.waiting == 0 && q.running == 0 }

func (p *program) queue(ctx context.Context) (queue, error) {
	body, err := p.client.Read(ctx,
		measure.Request{Method: http.MethodGet, Path: p.contender.metrics(p.ports) + "/metrics"})
	if err != nil {
		return queue{}, err
	}
	return parseQueue(string(body), p.contender.queue), nil
}

// parseQueue reads the metrics that client-go and controller-runtime have in common.
func parseQueue(metrics, name string) queue {
	var q queue
	for line := range strings.Lines(metrics) {
		metric, labels, found := strings.Cut(line, "{")
		labels, value, hasLabels := strings.Cut(labels, "} ")
		if !found || !hasLabels {
			continue
		}
		number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			continue
		}
		ours := strings.Contains(","+labels, `,name="`+name+`"`)
		switch {
		case metric == "leader_election_master_status":
			q.leads = q.leads || number == 1
		case metric == "workqueue_depth" && ours:
			q.waiting += number
		case metric == "workqueue_unfinished_work_seconds" && ours:
			q.running += number
		case metric == "workqueue_work_duration_seconds_count" && ours:
			q.done += number
		}
	}
	return q
}

// await waits until the controller leads, its queue is empty, and it has reconciled so many
// keys since its start.
func (p *program) await(ctx context.Context, reconciled int, timeout time.Duration) error {
	var last error
	for begin := time.Now(); time.Since(begin) < timeout; {
		q, err := p.queue(ctx)
		if err == nil && q.isEmpty() && q.done >= float64(reconciled) {
			return nil
		}
		if last = err; err == nil {
			last = fmt.Errorf("its queue is %+v", q)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(max(pollPeriod, time.Since(begin)/pollShare)):
		}
	}
	return fmt.Errorf("%s has not reconciled %d Websites after %s: %w", p.contender.program, reconciled, timeout, last)
}

// memory is the memory of a controller, in bytes.
type memory struct{ heap, resident int64 }

// memory collects garbage before it reads the heap.
func (p *program) memory(ctx context.Context) (memory, error) {
	heap, err := p.client.LiveHeap(ctx, p.contender.profiles(p.ports))
	if err != nil {
		return memory{}, err
	}
	resident, _, err := measure.Processes{p.contender.program: p.PID()}.Memory()
	return memory{heap: heap, resident: resident[p.contender.program]}, err
}
