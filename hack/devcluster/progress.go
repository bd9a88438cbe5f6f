package devcluster

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// These are the intervals of reporting the current step: short on a terminal, where a
// report replaces the previous one, and long elsewhere, such as in a CI log.
const (
	terminalInterval = 200 * time.Millisecond
	firstReport      = time.Second
	nextReport       = 5 * time.Second
	// leastForEstimate is the number of compiled packages from which the remaining time can
	// be estimated.
	leastForEstimate = 100
)

// progress writes one line per event, with the time since the start.
type progress struct {
	start time.Time
	// width is the width of the terminal, or 0 if w is none.
	width int
	mu    sync.Mutex
	w     io.Writer
	// expected and done are the numbers of packages of all compilations, and of those that have ended.
	expected, done int
}

// expect adds packages that will be compiled.
func (p *progress) expect(packages int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected += packages
}

// left estimates the remaining time of all compilations by the packages per second so far. Empty:
// it is unknown.
func (p *progress) left(compiled int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := p.done + compiled
	if done < leastForEstimate || done > p.expected {
		return ""
	}
	left := time.Since(p.start) * time.Duration(p.expected-done) / time.Duration(done)
	return fmt.Sprintf(", about %s left", (left + 5*time.Second).Round(10*time.Second))
}

func newProgress(w io.Writer) *progress {
	p := &progress{start: time.Now(), w: w}
	if file, ok := w.(*os.File); ok && os.Getenv("TERM") != "dumb" {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			p.width = width
		}
	}
	return p
}

func (p *progress) printf(format string, args ...any) { p.write(fmt.Sprintf(format, args...), false) }

// write writes a line. On a terminal, the next line replaces it if replaced is set.
func (p *progress) write(text string, replaced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("[%7s] %s", seconds(time.Since(p.start)), text)
	if p.width > 0 {
		const clear = "\r\x1b[K"
		if replaced {
			// A line that wraps cannot be replaced.
			line = clear + line[:min(len(line), p.width-1)]
		} else {
			line = clear + line + "\n"
		}
	} else {
		line += "\n"
	}
	// A closed output must not stop the cluster.
	_, _ = io.WriteString(p.w, line)
}

// step begins a long operation. Its current detail is reported until done or failed
// ends it.
func (p *progress) step(name string) *step {
	s := &step{p: p, name: name, detail: "starting", begin: time.Now(), over: make(chan struct{})}
	s.stopped.Go(s.report)
	return s
}

type step struct {
	p       *progress
	name    string
	begin   time.Time
	over    chan struct{}
	stopped sync.WaitGroup

	// packages is the expected number of packages to compile.
	packages int

	mu     sync.Mutex
	detail string
	// count is the number of compiled packages.
	count int
}

func (s *step) report() {
	first, next := firstReport, nextReport
	if s.p.width > 0 {
		first, next = terminalInterval, terminalInterval
	}
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-s.over:
			return
		case <-timer.C:
			s.mu.Lock()
			detail, count := s.detail, min(s.count, s.packages)
			s.mu.Unlock()
			if count > 0 {
				detail += s.p.left(count)
			}
			s.p.write(fmt.Sprintf("%s: %s (%s)", s.name, detail, seconds(time.Since(s.begin))), true)
			timer.Reset(next)
		}
	}
}

// compiled adds compiled packages.
func (s *step) compiled(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count += n
}

// set replaces the reported detail.
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

// failed ends the step and returns the error, which the caller prints.
func (s *step) failed(err error) error {
	s.end()
	s.p.printf("%s: failed (%s)", s.name, seconds(time.Since(s.begin)))
	return err
}

func (s *step) end() {
	close(s.over)
	s.stopped.Wait()
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.done += s.packages
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
