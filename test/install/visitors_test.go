package install

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// visitInterval is the time between two requests for the page of a site.
	visitInterval = 100 * time.Millisecond
	// shownFailures is the number of logged failures.
	shownFailures = 5
)

// visitors request the pages of sites continuously. The visitors of every second site
// keep their connection, as a browser does; the others connect for each request.
type visitors struct {
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu       sync.Mutex
	requests int
	slowest  time.Duration
	failures []string
}

// startVisitors requests pages, by the name of their site, until finish.
func startVisitors(t *testing.T, pages map[string]string) *visitors {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	v := &visitors{cancel: cancel}
	t.Cleanup(func() {
		cancel()
		v.all.Wait()
	})
	keep := false
	for name, url := range pages {
		transport := &http.Transport{DisableKeepAlives: !keep, MaxIdleConnsPerHost: 1}
		v.all.Go(func() {
			defer transport.CloseIdleConnections()
			v.visit(ctx, &http.Client{Transport: transport, Timeout: 10 * time.Second}, name, url)
		})
		keep = !keep
	}
	return v
}

func (v *visitors) visit(ctx context.Context, client *http.Client, name, url string) {
	tick := time.NewTicker(visitInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		start := time.Now()
		// A started request is completed after the end of the visit.
		request, progress := traced(context.WithoutCancel(ctx))
		body, err := getWith(request, client, url)
		if err == nil && body != page(name) {
			err = fmt.Errorf("%s serves %q", url, body)
		}
		if err != nil {
			err = fmt.Errorf("%w (%s)", err, progress())
		}
		v.note(name, start, err)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// traced returns a context for a request, and a function that returns its progress.
func traced(ctx context.Context) (request context.Context, progress func() string) {
	var mu sync.Mutex
	reached := "no connection"
	set := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		reached = text
	}
	trace := &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			set(map[bool]string{true: "on a kept connection", false: "on a new connection"}[info.Reused])
		},
	}
	return httptrace.WithClientTrace(ctx, trace), func() string {
		mu.Lock()
		defer mu.Unlock()
		return reached
	}
}

func (v *visitors) note(name string, start time.Time, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.requests++
	v.slowest = max(v.slowest, time.Since(start))
	if err != nil {
		v.failures = append(v.failures, fmt.Sprintf("%s %s: %v", start.UTC().Format("15:04:05.000"), name, err))
	}
}

// finish ends the visits, and fails the test if a request has failed.
func (v *visitors) finish(t *testing.T) {
	t.Helper()
	v.cancel()
	v.all.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	t.Logf("%d page requests, %d failed; the slowest one took %s", v.requests, len(v.failures),
		v.slowest.Round(time.Millisecond))
	if len(v.failures) > 0 {
		slices.Sort(v.failures)
		t.Errorf("%d of %d page requests failed:\n%s", len(v.failures), v.requests,
			strings.Join(v.failures[:min(shownFailures, len(v.failures))], "\n"))
	}
}
