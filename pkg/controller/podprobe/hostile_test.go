package podprobe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// hostilePods answer each request after a moment, so that it leads to another one.
type hostilePods struct {
	answer func(n int, status *agent.Status)

	mu       sync.Mutex
	requests int
}

func (p *hostilePods) Get(context.Context, *cached.Pod, Request) (int, []byte, error) {
	time.Sleep(time.Millisecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	status := statusOf(commitA)
	status.Revision, status.NextSyncMilliseconds = fmt.Sprint(p.requests), ptr.To(time.Hour.Milliseconds())
	p.answer(p.requests, &status)
	body, err := json.Marshal(status)
	return http.StatusOK, body, err
}

// TestHostilePodsAreBounded: a pod that answers arbitrarily is not requested without a pause.
func TestHostilePodsAreBounded(t *testing.T) {
	const seconds = 600
	for name, answer := range map[string]func(n int, status *agent.Status){
		"a release is always prepared":    func(_ int, status *agent.Status) { status.Prepared = commitB },
		"another release at each request": func(n int, status *agent.Status) { status.Prepared = fmt.Sprintf("%040x", n) },
		"never synced, with another pin each time": func(n int, status *agent.Status) {
			if n%2 == 0 {
				status.Pin = &agent.PinStatus{Commit: commitB, Generation: 1}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pods := &hostilePods{answer: answer}
				p := New(Config{Client: pods, Period: testPeriod, Clock: clock.RealClock{}, Workers: 40, Share: 10})
				start(t, p)
				website := cache.NewObjectName("bad", "site")
				p.Want(website, &Wanted{UID: "uid", Generation: 1, Sync: "requested"})
				p.Probe(website, podOf("bad", 0))
				time.Sleep(seconds * time.Second)
				pods.mu.Lock()
				defer pods.mu.Unlock()
				t.Logf("%d requests in %d seconds", pods.requests, seconds)
				if limit := 3*seconds + 100; pods.requests > limit {
					t.Errorf("%d requests in %d seconds, want %d at most", pods.requests, seconds, limit)
				}
			})
		})
	}
}
