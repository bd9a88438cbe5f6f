package website

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/controller/podprobe"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// servingPods all serve one commit.
type servingPods struct{ commit string }

func (p servingPods) Get(context.Context, *cached.Pod, podprobe.Request) (int, []byte, error) {
	contact := time.Now()
	body, err := json.Marshal(agent.Status{Commit: p.commit, PathFound: true, LastContact: &contact})
	return http.StatusOK, body, err
}

// probing makes the controller probe pods.
func (f *fixture) probing(pods podprobe.Client) *fixture {
	f.controller.pods.prober = podprobe.New(podprobe.Config{Client: pods, Period: time.Minute, Clock: clock.RealClock{},
		Workers: probeWorkers, Share: probeShare})
	return f
}

// countingPods counts the requests to pods by their names.
type countingPods struct {
	servingPods
	mu       sync.Mutex
	requests map[string]int
}

func (p *countingPods) Get(ctx context.Context, pod *cached.Pod, request podprobe.Request) (int, []byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests[pod.Namespace+"/"+pod.Name]++
	return p.servingPods.Get(ctx, pod, request)
}

func (p *countingPods) of(pod *corev1.Pod) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[pod.Namespace+"/"+pod.Name]
}

// TestWhichPodsAreProbed: only pods of existing Websites are probed.
func TestWhichPodsAreProbed(t *testing.T) {
	pods := &countingPods{servingPods: servingPods{commitA}, requests: map[string]int{}}
	f := newFixture(t, newWebsite()).probing(pods)
	for name, tweak := range strangers {
		f.store(newPod(func(p *corev1.Pod) { p.Name, p.UID = name, types.UID("uid-of-"+name) }, tweak))
	}
	gone := newPod(func(p *corev1.Pod) {
		p.Name, p.UID, p.Labels["controller"] = "of-a-website-that-is-gone", "uid-of-gone", "gone"
	})
	f.store(gone)
	own := newPod(func(p *corev1.Pod) { p.Name = "z" }) // The last in the order of their names.
	f.store(own)
	start(t, f, 1)
	eventually(t, "the pod of a Website is probed", func() bool { return pods.of(own) >= 1 })
	for name, tweak := range strangers {
		if n := pods.of(newPod(func(p *corev1.Pod) { p.Name = name }, tweak)); n > 0 {
			t.Errorf("%s: a pod that is none of ours got %d requests", name, n)
		}
	}
	if n := pods.of(gone); n > 0 {
		t.Errorf("the pod of a Website that is gone got %d requests", n)
	}

	// They are no longer probed once the Website is deleted.
	if err := f.websites.WebsiteV1beta1().Websites(testNamespace).Delete(t.Context(), testName,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "its last answer is dropped", func() bool {
		_, known := f.controller.pods.prober.Observation(own.UID)
		return !known
	})
}

// TestDeletedWhileProbingStarts: the event of a pod may come between its list and its probe.
func TestDeletedWhileProbingStarts(t *testing.T) {
	pods := &countingPods{servingPods: servingPods{commitA}, requests: map[string]int{}}
	f := newFixture(t, newWebsite()).probing(pods)
	own, deleted := newPod(), newPod(func(p *corev1.Pod) { p.Name, p.UID = "deleted", "uid-of-deleted" })
	f.store(own)
	f.syncCaches()
	f.controller.queue.Running.Store(true)
	f.controller.pods.probe(cached.OfPod(deleted))
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.controller.pods.run(ctx)
	}()
	eventually(t, "the pod that is there is probed", func() bool { return pods.of(own) >= 1 })
	stop()
	<-done
	if n := pods.of(deleted); n > 0 {
		t.Errorf("the pod that is gone got %d requests", n)
	}
}

// TestPodsBeforeTheirWebsite: pods that a deletion has orphaned are probed again once the Website is
// created again, without an event of the pod.
func TestPodsBeforeTheirWebsite(t *testing.T) {
	f := newFixture(t).probing(servingPods{commitA})
	f.store(newPod())
	r := start(t, f, 1)
	eventually(t, "the pod is in the cache", func() bool { return len(r.controller.pods.labelled(newWebsite())) == 1 })
	if _, err := f.websites.WebsiteV1beta1().Websites(testNamespace).Create(t.Context(), newWebsite(),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the status has the commit of the pod", func() bool {
		return f.website(testName).Status.Commit == commitA
	})
}
