package controller

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestOnlyARolloutEndsReady scales a Website up and down, which keeps it Ready, and changes its pod
// template, which does not.
func TestOnlyARolloutEndsReady(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	w := framework.MustCreate(t, framework.NewWebsite(namespace, "kubia"))
	framework.WaitSettled(t, namespace, w.Name)
	current := framework.MustGet(t, w)
	watcher := framework.StartWatch(t, framework.Admin(t).Websites.WebsiteV1beta1().Websites(namespace),
		metav1.ListOptions{ResourceVersion: current.ResourceVersion})

	// play reads the states in a watch until one of them matches, and reports whether the Website was
	// not Ready in any of them.
	play := func(what string, wanted func(w *v1beta1.Website, isReady, isReconciling bool) bool) (endedReady bool) {
		t.Helper()
		timeout := time.After(framework.WaitTimeout)
		for {
			select {
			case event, open := <-watcher.ResultChan():
				w, ok := event.Object.(*v1beta1.Website)
				if !open || event.Type != watch.Modified || !ok {
					t.Fatalf("event %+v", event)
				}
				isReady := meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteReady)
				endedReady = endedReady || !isReady
				if wanted(w, isReady, meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteReconciling)) {
					return endedReady
				}
			case <-timeout:
				t.Fatalf("%s: the Website is not as wanted", what)
			}
		}
	}
	stable := func(generation int64, replicas int32) func(*v1beta1.Website, bool, bool) bool {
		return func(w *v1beta1.Website, isReady, isReconciling bool) bool {
			return w.Status.ObservedGeneration == generation && isReady && !isReconciling &&
				w.Status.AvailableReplicas == replicas
		}
	}
	for i, replicas := range []int32{4, 2} {
		kubectl := fmt.Sprintf("--replicas=%d", replicas)
		framework.Kubectl(t, "scale", "website/kubia", "-n", namespace, kubectl)
		// Reconciling is reported only if it lasts longer than the delay of a status write.
		if play(kubectl, stable(current.Generation+1+int64(i), replicas)) {
			t.Errorf("%s ended Ready", kubectl)
		}
	}
	// This rollout cannot end, as no node has room for its pods. A rollout that ends before the status
	// is written does not end Ready.
	patch := func(cpu string) {
		framework.Kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p",
			fmt.Sprintf(`{"spec":{"resources":{"server":{"requests":{"cpu":%q},"limits":{"cpu":%q}}}}}`, cpu, cpu))
	}
	patch("1k")
	play("a rollout", func(w *v1beta1.Website, isReady, isReconciling bool) bool {
		return w.Status.ObservedGeneration == current.Generation+3 && !isReady && isReconciling &&
			w.Status.AvailableReplicas == 2
	})
	patch("10m")
	play("the end of a rollout", stable(current.Generation+4, 2))
}
