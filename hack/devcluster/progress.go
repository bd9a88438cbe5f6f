package devcluster

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// How often a step that takes long says how far it is.
const (
	firstReport = 2 * time.Second
	nextReport  = 5 * time.Second
)

// progress writes what happens, one line per event, each with the time since the
// start. Lines instead of a redrawn screen: they survive in a CI log.
type progress struct {
	start time.Time
	mu    sync.Mutex
	w     io.Writer
}

func newProgress(w io.Writer) *progress { return &progress{start: time.Now(), w: w} }

func (p *progress) printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// A reader that went away must not stop the cluster.
	_, _ = fmt.Fprintf(p.w, "[%7s] %s\n", seconds(time.Since(p.start)), fmt.Sprintf(format, args...))
}

// step begins something that may take long. While it lasts, its latest detail is
// reported now and then; done or failed ends it.
func (p *progress) step(name string) *step {
	s := &step{p: p, name: name, detail: "working", begin: time.Now(), over: make(chan struct{})}
	s.stopped.Add(1)
	go s.report()
	return s
}

type step struct {
	p       *progress
	name    string
	begin   time.Time
	over    chan struct{}
	stopped sync.WaitGroup

	mu     sync.Mutex
	detail string
}

func (s *step) report() {
	defer s.stopped.Done()
	timer := time.NewTimer(firstReport)
	defer timer.Stop()
	for {
		select {
		case <-s.over:
			return
		case <-timer.C:
			s.mu.Lock()
			detail := s.detail
			s.mu.Unlock()
			s.p.printf("%s: %s (%s so far)", s.name, detail, seconds(time.Since(s.begin)))
			timer.Reset(nextReport)
		}
	}
}

// set replaces the detail that is reported while the step lasts.
func (s *step) set(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detail = fmt.Sprintf(format, args...)
}

// done ends the step with its result.
func (s *step) done(format string, args ...any) {
	s.end()
	s.p.printf("%s: %s (%s)", s.name, fmt.Sprintf(format, args...), seconds(time.Since(s.begin)))
}

// failed ends the step with the error that goes to the caller as well, and returns it.
func (s *step) failed(err error) error {
	s.end()
	s.p.printf("%s: failed (%s)", s.name, seconds(time.Since(s.begin)))
	return err
}

func (s *step) end() {
	close(s.over)
	s.stopped.Wait()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
