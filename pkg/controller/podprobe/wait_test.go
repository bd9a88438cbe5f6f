package podprobe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// waitingPods is a fake client of agents that sync once per period, and respond to a waiting request at
// the end of the next sync. Times are relative to the synctest bubble.
type waitingPods struct {
	period time.Duration
	// silent agents do not respond to waiting requests. hasty agents respond to them immediately.
	silent, hasty bool

	mu                   sync.Mutex
	begun                time.Time
	commit               string
	requests             int
	inFlight, mostWaited int
}

func (p *waitingPods) Get(ctx context.Context, _ *cached.Pod, request Request) (int, []byte, error) {
	p.mu.Lock()
	p.requests++
	if request.Wait > 0 {
		p.inFlight++
		p.mostWaited = max(p.mostWaited, p.inFlight)
	}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if request.Wait > 0 {
			p.inFlight--
		}
	}()
	over := time.Duration(0)
	switch {
	case p.silent && request.Wait > 0:
		over = request.Wait + requestTimeout
	case request.Wait > 0 && !p.hasty:
		over = min(request.Wait, p.nextSync())
	}
	select {
	case <-time.After(over):
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
	if p.silent && request.Wait > 0 {
		return 0, nil, errors.New("timeout")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	status := statusOf(p.commit)
	next := p.nextSync().Milliseconds()
	if p.hasty {
		next = 0
	}
	status.NextSyncMilliseconds, status.Revision = &next, fmt.Sprint(time.Since(p.begun)/p.period)
	if p.hasty {
		status.Revision = "always the same"
	}
	body, err := json.Marshal(status)
	return http.StatusOK, body, err
}

func (p *waitingPods) nextSync() time.Duration { return p.period - time.Since(p.begun)%p.period }

// startWaitingPods starts a prober for n pods of one namespace, each with its own Website.
func startWaitingPods(t *testing.T, pods *waitingPods, n int) *Prober {
	t.Helper()
	pods.begun, pods.commit = time.Now(), commitA
	p := New(Config{Client: pods, Period: testPeriod, Clock: clock.RealClock{}, Workers: 40, Share: 10})
	start(t, p)
	for i := range n {
		p.Probe(cache.NewObjectName("good", fmt.Sprint("site-", i)), podOf("good", i))
	}
	return p
}

// TestWaitsAreBounded: a pod gets about one request per period, or one per sync if syncs are more
// frequent. Agents that do not respond, or do not support waiting requests, get more, but a bounded
// number.
func TestWaitsAreBounded(t *testing.T) {
	const time10m = 10 * time.Minute
	for name, test := range map[string]struct {
		pods *waitingPods
		n    int
		// want is the approximate maximum of requests per pod in ten minutes.
		want int
	}{
		"syncs each minute":        {&waitingPods{period: time.Minute}, 50, 20},
		"syncs each ten seconds":   {&waitingPods{period: 10 * time.Second}, 50, 60},
		"syncs each hour":          {&waitingPods{period: time.Hour}, 50, 20},
		"more than may wait":       {&waitingPods{period: time.Minute}, shareWaiting + 100, 20},
		"do not answer":            {&waitingPods{period: time.Minute, silent: true}, 50, 30},
		"do not let requests wait": {&waitingPods{period: time.Minute, hasty: true}, 10, 120},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				startWaitingPods(t, test.pods, test.n)
				time.Sleep(time.Minute)
				test.pods.mu.Lock()
				test.pods.requests = 0
				test.pods.mu.Unlock()
				time.Sleep(time10m)
				test.pods.mu.Lock()
				defer test.pods.mu.Unlock()
				t.Logf("%d requests to %d pods in ten minutes, %d waited at a time", test.pods.requests, test.n,
					test.pods.mostWaited)
				if limit := test.n * (test.want + 2); test.pods.requests > limit {
					t.Errorf("%d requests, want %d at most", test.pods.requests, limit)
				}
				if test.pods.mostWaited > shareWaiting {
					t.Errorf("%d requests waited at a time, want %d at most", test.pods.mostWaited, shareWaiting)
				}
			})
		})
	}
}

// TestCommitIsReportedAtOnce: a commit is observed at the end of the sync that fetched it.
func TestCommitIsReportedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := &waitingPods{period: time.Minute}
		p := startWaitingPods(t, pods, 1)
		time.Sleep(90 * time.Second)
		pods.mu.Lock()
		pods.commit = commitB
		pods.mu.Unlock()
		time.Sleep(pods.nextSync() + time.Millisecond)
		synctest.Wait()
		if seen, _ := p.Observation(podOf("good", 0).UID); seen.Commit != commitB {
			t.Errorf("the pod is known to serve %q", seen.Commit)
		}
	})
}

// TestQueries checks the query parameters of requests to an agent.
func TestQueries(t *testing.T) {
	for want, a := range map[string]ask{
		"":                                   {},
		"after=x&hold=true&wait=30s":         {wait: 30 * time.Second, after: "x", hold: true},
		"after=y&expect=c&hold=true&wait=5s": {wait: expectWait, after: "y", hold: true, expect: "c"},
		"after=y&release=" + commitA + "&wait=5s": {wait: expectWait, after: "y", release: commitA},
	} {
		if got := a.query().Encode(); got != want {
			t.Errorf("asked with %q, want %q", got, want)
		}
	}
}
