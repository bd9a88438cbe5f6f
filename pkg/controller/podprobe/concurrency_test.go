package podprobe

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// slowPods do not respond before they are released.
type slowPods struct {
	release chan struct{}

	mu            sync.Mutex
	inFlight, all int
}

func (p *slowPods) Get(ctx context.Context, _ *cached.Pod, _ Request) (int, []byte, error) {
	p.mu.Lock()
	p.inFlight++
	p.all++
	p.mu.Unlock()
	<-p.release
	p.mu.Lock()
	p.inFlight--
	p.mu.Unlock()
	return http.StatusServiceUnavailable, nil, nil
}

// TestConcurrency probes more pods than there are workers, and counts the requests once all
// goroutines are blocked.
func TestConcurrency(t *testing.T) {
	const workers, pods = 3, 8
	synctest.Test(t, func(t *testing.T) {
		slow := &slowPods{release: make(chan struct{})}
		p := New(Config{Client: slow, Period: time.Minute, Clock: clock.RealClock{}, Workers: workers, Share: workers})
		start(t, p)
		for i := range pods {
			p.Probe(testWebsite, newPod(fmt.Sprint(i)))
		}
		synctest.Wait()
		if slow.inFlight != workers || slow.all != workers {
			t.Errorf("%d of %d pods are probed at once, want %d", slow.inFlight, pods, workers)
		}
		close(slow.release)
		synctest.Wait()
		if slow.inFlight != 0 || slow.all < pods {
			t.Errorf("%d requests to %d pods, %d of them unanswered", slow.all, pods, slow.inFlight)
		}
	})
}
