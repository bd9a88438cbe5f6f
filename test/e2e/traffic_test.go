package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubesites/website-apiserver/test/framework"
)

const (
	// trafficInterval is the time between two requests of a site's visitors.
	trafficInterval = 20 * time.Millisecond
	// trafficVisitors is the number of concurrent visitors. One of them keeps its
	// connection, as a browser does.
	trafficVisitors = 4
	// shownFailures is the number of logged failures.
	shownFailures = 5
)

// traffic simulates visitors who request all files of a site continuously.
type traffic struct {
	site *site
	url  string
	// clients send the requests. The first one keeps its connections.
	clients [trafficVisitors]*http.Client
	cancel  context.CancelFunc
	over    chan struct{}

	mu       sync.Mutex
	requests int
	// served counts the responses by commit.
	served map[string]int
	// markers are the releases in the responses of each commit.
	markers  map[string]map[string]bool
	failed   int
	failures []string
}

// startTraffic requests the site continuously until finish, or until the
// test ends.
func startTraffic(t *testing.T, s *site) *traffic {
	t.Helper()
	return startTrafficTo(t, s, s.url(t), func(*http.Transport) {})
}

// startTrafficTo is startTraffic for another URL of the site, with a transport that
// configure changes.
func startTrafficTo(t *testing.T, s *site, url string, configure func(*http.Transport)) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	v := &traffic{
		site: s, url: url, cancel: cancel, over: make(chan struct{}),
		served: map[string]int{}, markers: map[string]map[string]bool{},
	}
	for i := range v.clients {
		transport := &http.Transport{MaxIdleConnsPerHost: 1, DisableKeepAlives: i > 0}
		configure(transport)
		t.Cleanup(transport.CloseIdleConnections)
		v.clients[i] = &http.Client{Timeout: visitor.Timeout, Transport: transport, CheckRedirect: visitor.CheckRedirect}
	}
	go v.run(ctx)
	t.Cleanup(func() {
		cancel()
		<-v.over
	})
	framework.WaitFor(t, "there is traffic", func(context.Context) error {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.requests < len(releasePaths) {
			return fmt.Errorf("%d requests", v.requests)
		}
		return nil
	})
	return v
}

func (v *traffic) run(ctx context.Context) {
	defer close(v.over)
	paths := make(chan string)
	var visitors sync.WaitGroup
	for _, client := range v.clients {
		visitors.Go(func() {
			for path := range paths {
				// A started request is completed after the end of the traffic.
				v.note(path, get(context.WithoutCancel(ctx), client, v.url+path))
			}
		})
	}
	tick := time.NewTicker(trafficInterval)
	defer tick.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		paths <- releasePaths[i%len(releasePaths)]
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	close(paths)
	visitors.Wait()
}

// note checks one response.
func (v *traffic) note(path string, a answer) {
	commit, marker, problem := a.header.Get(commitHeader), "", a.err
	if problem == nil && a.status != http.StatusOK {
		problem = fmt.Errorf("status %d", a.status)
	}
	if problem == nil {
		marker, problem = releaseOf(path, a.body)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.requests++
	if problem != nil {
		v.failed++
		if len(v.failures) < shownFailures {
			v.failures = append(v.failures, fmt.Sprintf("%s GET %s: %v (%v)", time.Now().UTC().Format(time.TimeOnly),
				path, problem, a))
		}
		return
	}
	v.served[commit]++
	if v.markers[commit] == nil {
		v.markers[commit] = map[string]bool{}
	}
	v.markers[commit][marker] = true
}

// waitServed waits until visitors have got a commit.
func (v *traffic) waitServed(t *testing.T, commit string) {
	t.Helper()
	framework.WaitFor(t, "visitors see commit "+commit, func(context.Context) error {
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.served[commit] == 0 {
			return fmt.Errorf("they see %v", v.served)
		}
		return nil
	})
}

// finish ends the traffic. It fails the test if any request failed, or if any
// response had content of another commit than in its header.
func (v *traffic) finish(t *testing.T) {
	t.Helper()
	v.cancel()
	<-v.over
	v.mu.Lock()
	defer v.mu.Unlock()
	t.Logf("%d requests, %d failed; answers by commit: %v", v.requests, v.failed, v.served)
	if v.failed > 0 {
		t.Errorf("%d of %d requests failed:\n%s", v.failed, v.requests, strings.Join(v.failures, "\n"))
	}
	for commit, markers := range v.markers {
		want, ok := v.site.repository.markers[commit]
		if !ok || len(markers) != 1 || !markers[want] {
			t.Errorf("answers that said they were of commit %q were of %v, want %q", commit, markers, want)
		}
	}
}
