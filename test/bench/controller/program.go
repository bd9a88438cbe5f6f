package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

const (
	startTimeout = 2 * time.Minute
	// stopTimeout is longer than a controller takes to finish its requests.
	stopTimeout = time.Minute
	// Metrics are read first every pollPeriod, then less often: reading them takes CPU time that is measured. The time
	// at which a queue has become empty is known to within a twentieth.
	pollPeriod = 100 * time.Millisecond
	pollShare  = 20
)

// program is a running controller.
type program struct {
	contender *contender
	client    *measure.Client
	ports     [2]string
	command   *exec.Cmd
	// ended is closed when the process has ended.
	ended chan struct{}
	// stopped is set before it is to end.
	stopped atomic.Bool
}

// start starts the controller of a contender. Its output is appended to a file. crashed is called if it
// ends by itself.
func start(c *contender, repoDir, kubeconfig, output string, scraper *measure.Client,
	crashed func(error)) (*program, error) {
	p := &program{contender: c, client: scraper, ended: make(chan struct{})}
	for i := range p.ports {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		p.ports[i] = port
	}
	log, err := os.OpenFile(output, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", c.program, err)
	}
	defer func() { _ = log.Close() }()
	p.command = exec.Command(c.path(repoDir), c.flags(kubeconfig, p.ports)...)
	p.command.Stdout, p.command.Stderr = log, log
	// An interrupt from the keyboard is for the benchmark, which then stops the controller.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.program, err)
	}
	go func() {
		defer close(p.ended)
		err := p.command.Wait()
		if !p.stopped.Load() {
			crashed(fmt.Errorf("%s has ended (%v): %s", c.program, err, lastOf(output)))
		}
	}()
	return p, nil
}

// lastOf returns the end of a log.
func lastOf(path string) string {
	const enough = 2000
	log, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return strings.ToValidUTF8(string(log[max(0, len(log)-enough):]), "?")
}

// freePort returns a port that was free a moment ago.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port), nil
}

// stop ends the controller as a Deployment does.
func (p *program) stop() error {
	p.stopped.Store(true)
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", p.contender.program, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("%s has not ended %s after SIGTERM", p.contender.program, stopTimeout),
			p.command.Process.Kill())
	}
}

func (p *program) pid() int { return p.command.Process.Pid }

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
	resident, _, err := measure.Processes{p.contender.program: p.pid()}.Memory()
	return memory{heap: heap, resident: resident[p.contender.program]}, err
}
