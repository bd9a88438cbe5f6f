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

// TestOnlyARolloutEndsReady scales a Website up and down, which keeps it Ready, and
// changes its pod template, which does not.
func TestOnlyARolloutEndsReady(t *testing.T) {
	t.Parallel()
	namespace := framework.NewNamespace(t)
	w := framework.MustCreate(t, framework.NewWebsite(namespace, "kubia"))
	framework.WaitSettled(t, namespace, w.Name)
	current := framework.MustGet(t, w)
	watcher := framework.StartWatch(t, framework.Admin(t).Websites.WebsiteV1beta1().Websites(namespace), metav1.ListOptions{ResourceVersion: current.ResourceVersion})

	// play reads the states that a watcher sees until the Website is settled with so
	// many pods, and returns the distinct statuses of Ready and Reconciling.
	play := func(generation int64, replicas int32) (ready, reconciling map[bool]bool) {
		t.Helper()
		ready, reconciling = map[bool]bool{}, map[bool]bool{}
		timeout := time.After(framework.WaitTimeout)
		for {
			select {
			case event, open := <-watcher.ResultChan():
				w, ok := event.Object.(*v1beta1.Website)
				if !open || event.Type != watch.Modified || !ok {
					t.Fatalf("event %+v", event)
				}
				isReady := meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteReady)
				isReconciling := meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteReconciling)
				ready[isReady], reconciling[isReconciling] = true, true
				if w.Status.ObservedGeneration == generation && isReady && !isReconciling && w.Status.AvailableReplicas == replicas {
					return ready, reconciling
				}
			case <-timeout:
				t.Fatalf("generation %d is not settled with %d pods", generation, replicas)
			}
		}
	}
	for i, replicas := range []int32{4, 2} {
		kubectl := fmt.Sprintf("--replicas=%d", replicas)
		framework.Kubectl(t, "scale", "website/kubia", "-n", namespace, kubectl)
		// Reconciling shows only if it lasts longer than a status write is delayed.
		if ready, _ := play(current.Generation+1+int64(i), replicas); ready[false] {
			t.Errorf("%s ended Ready", kubectl)
		}
	}
	framework.Kubectl(t, "patch", "website", "kubia", "-n", namespace, "--type=merge", "-p", `{"spec":{"serving":{"fallback":"SPA"}}}`)
	if ready, reconciling := play(current.Generation+3, 2); !ready[false] || !reconciling[true] {
		t.Errorf("a rollout was reported with Ready %v, Reconciling %v, want Ready False in between", ready, reconciling)
	}
}
