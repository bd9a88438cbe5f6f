package website

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/observer"
)

// servingPods all serve one commit.
type servingPods struct{ commit string }

func (p servingPods) Get(_ context.Context, _ *corev1.Pod, _ int32, path string) (int, []byte, error) {
	body := map[string]string{"/commit": p.commit, "/startupz": "ok", "/metrics": `git_sync_count_total{status="success"} 1`}
	return http.StatusOK, []byte(body[path] + "\n"), nil
}

func (servingPods) Log(context.Context, *corev1.Pod) (string, error)      { return "", nil }
func (servingPods) Eviction(context.Context, *corev1.Pod) (string, error) { return "", nil }

// observing makes the controller ask pods what they serve.
func (f *fixture) observing(pods observer.Pods) *fixture {
	f.controller.observer = f.controller.newObserver(Config{Pods: pods, ObservationPeriod: time.Minute},
		f.childInformers.Core().V1().Pods().Lister())
	return f
}

// TestWhichPodsAreAsked: only those of Websites that exist.
func TestWhichPodsAreAsked(t *testing.T) {
	f := newFixture(t, newWebsite()).observing(servingPods{})
	wanted := f.controller.observer.Wanted
	if !wanted(newPod()) {
		t.Error("the pod of a Website is not asked")
	}
	for name, tweak := range strangers {
		if wanted(newPod(tweak)) {
			t.Errorf("%s: a pod that is none of ours is asked", name)
		}
	}
	f.uncacheWebsite(newWebsite())
	if wanted(newPod()) {
		t.Error("the pod of a Website that is gone is asked")
	}
}

// TestPodsBeforeTheirWebsite: what a deletion has orphaned is asked again once
// the Website is created again, although nothing happens to the pod.
func TestPodsBeforeTheirWebsite(t *testing.T) {
	f := newFixture(t).observing(servingPods{commitA})
	f.store(newPod())
	wanted, refused := f.controller.observer.Wanted, make(chan struct{})
	var once sync.Once
	f.controller.observer.Wanted = func(pod *corev1.Pod) bool {
		yes := wanted(pod)
		if !yes {
			once.Do(func() { close(refused) })
		}
		return yes
	}
	start(t, f, 1)
	select {
	case <-refused:
	case <-time.After(patience):
		t.Fatal("nobody looked at the pod")
	}
	if _, err := f.sites.WebsiteV1beta1().Websites(testNamespace).Create(t.Context(), newWebsite(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the status says what the pod serves", func() bool {
		return f.website(testName).Status.Commit == commitA
	})
}
