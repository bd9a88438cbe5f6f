package website

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// slowPods count the requests that they have not answered. They answer none before they are released.
type slowPods struct {
	servingPods
	release chan struct{}

	mu             sync.Mutex
	inFlight, most int
}

func (p *slowPods) Get(ctx context.Context, pod *cached.Pod, request podprobe.Request) (int, []byte, error) {
	p.count(1)
	defer p.count(-1)
	select {
	case <-p.release:
	case <-ctx.Done():
	}
	return p.servingPods.Get(ctx, pod, request)
}

func (p *slowPods) count(change int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight += change
	p.most = max(p.most, p.inFlight)
}

func (p *slowPods) counts() (inFlight, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inFlight, p.most
}

// TestPodsProbedAtOnce: the documented number of pods in a namespace is probed concurrently, although
// there are more and none of them responds.
func TestPodsProbedAtOnce(t *testing.T) {
	const documented = 10
	slow := &slowPods{servingPods: servingPods{commitA}, release: make(chan struct{})}
	f := newFixture(t, newWebsite()).probing(slow)
	for i := range documented + 10 {
		f.store(newPod(func(pod *corev1.Pod) {
			pod.Name, pod.UID = fmt.Sprintf("kubia-website-1234-%d", i), types.UID(fmt.Sprintf("uid-of-pod-%d", i))
		}))
	}
	start(t, f, 1)
	eventually(t, "many pods are probed at once", func() bool {
		inFlight, _ := slow.counts()
		return inFlight >= documented
	})
	close(slow.release)
	eventually(t, "the commit is reported", func() bool { return f.website(testName).Status.Commit == commitA })
	if _, most := slow.counts(); most != documented {
		t.Errorf("%d pods were probed at once, want %d", most, documented)
	}
}
