package observer

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// slowPods do not answer before they are told to.
type slowPods struct {
	fakePods
	release chan struct{}

	mu            sync.Mutex
	inFlight, all int
}

func (p *slowPods) Get(ctx context.Context, pod *corev1.Pod, port int32, path string) (int, []byte, error) {
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

// TestConcurrency has more pods asked than there are workers, and looks once
// nothing moves any more.
func TestConcurrency(t *testing.T) {
	const workers, pods = 3, 8
	synctest.Test(t, func(t *testing.T) {
		slow := &slowPods{release: make(chan struct{})}
		o := New(Config{
			Pods:     slow,
			Lookup:   func(key cache.ObjectName) (*corev1.Pod, error) { return newPod(key.Name), nil },
			Wanted:   func(*corev1.Pod) bool { return true },
			Siblings: func(*corev1.Pod) []*corev1.Pod { return nil },
			Changed:  func(*corev1.Pod) {},
			Period:   time.Minute, Clock: clock.RealClock{},
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { o.Run(ctx, workers) })
		for i := range pods {
			o.Poll(newPod(fmt.Sprint(i)))
		}
		synctest.Wait()
		if slow.inFlight != workers || slow.all != workers {
			t.Errorf("%d of %d pods are asked at once, want %d", slow.inFlight, pods, workers)
		}
		close(slow.release)
		synctest.Wait()
		if slow.inFlight != 0 || slow.all < pods {
			t.Errorf("%d requests to %d pods, of which %d are not answered", slow.all, pods, slow.inFlight)
		}
		cancel()
		running.Wait()
	})
}
