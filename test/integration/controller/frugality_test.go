package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// These are the largest numbers of the controller's writes until a new Website is Ready. The event
// reports the created Deployment.
const (
	maxChildWrites = 5
	wantEvents     = 1
	// statusDelay is how long a status that is not Ready waits for more changes before it is written.
	statusDelay = time.Second
)

// TestWritesOfACreation counts the controller's writes until a new Website is Ready. It is not
// parallel: beside other tests, pods take longer to become ready, and the status is written more
// often in between.
func TestWritesOfACreation(t *testing.T) {
	for _, replicas := range []int32{1, 3} {
		t.Run(fmt.Sprintf("replicas-%d", replicas), func(t *testing.T) {
			namespace := framework.NewNamespace(t)
			kubeAudit, websiteAudit := framework.AuditLength(t, "kube-apiserver"), framework.AuditLength(t, "website-apiserver")
			start := time.Now()
			created := framework.MustCreate(t, framework.NewV1alpha1(namespace, "kubia", framework.V1alpha1Replicas(replicas)))
			statuses := changesUntilReady(t, created)
			// The last write reports Ready, and is not delayed.
			maxStatusWrites := 2 + int(time.Since(start)/statusDelay)
			// Events are written in the background, in order: once the event of a later Website has arrived,
			// no more events of this one follow.
			waitForEvent := func(namespace string) {
				t.Helper()
				framework.WaitFor(t, "the event of the Website in "+namespace+" is written", func(context.Context) error {
					if _, events := writesIn(t, namespace, kubeAudit, websiteAudit); events < wantEvents {
						return fmt.Errorf("there are %d", events)
					}
					return nil
				})
			}
			waitForEvent(namespace)
			later := framework.NewNamespace(t)
			framework.MustCreate(t, framework.NewV1alpha1(later, "later"))
			framework.WaitReady(t, later, "later")
			waitForEvent(later)

			children, events := writesIn(t, namespace, kubeAudit, websiteAudit)
			t.Logf("%d writes of children, %d of the status, %d events", children, statuses, events)
			if children < 3 || children > maxChildWrites {
				t.Errorf("%d writes of children, want 3 to %d", children, maxChildWrites)
			}
			if statuses < 1 || statuses > maxStatusWrites {
				t.Errorf("%d writes of the status, want 1 to %d", statuses, maxStatusWrites)
			}
			if events != wantEvents {
				t.Errorf("%d events, want %d", events, wantEvents)
			}
		})
	}
}

// changesUntilReady returns the number of changes of a Website from its creation until it is Ready.
// Only the controller changes it, and the watch shows each of its writes, however late the test
// reads them.
func changesUntilReady(t *testing.T, created *v1alpha1.Website) int {
	t.Helper()
	watcher := framework.StartWatch(t, framework.Websites(t, created.Namespace),
		metav1.ListOptions{ResourceVersion: created.ResourceVersion})
	timeout := time.After(framework.WaitTimeout)
	for changes := 1; ; changes++ {
		select {
		case event := <-watcher.ResultChan():
			current, ok := event.Object.(*v1beta1.Website)
			if !ok || event.Type != watch.Modified || current.Name != created.Name {
				t.Fatalf("%s of %+v, want a change of %s", event.Type, event.Object, created.Name)
			}
			if meta.IsStatusConditionTrue(current.Status.Conditions, v1beta1.WebsiteReady) {
				return changes
			}
		case <-timeout:
			t.Fatalf("Website %s is not Ready after %d changes", created.Name, changes-1)
		}
	}
}

// writesIn counts the controller's writes in a namespace, except of statuses.
func writesIn(t *testing.T, namespace string, kubeAudit, websiteAudit int64) (children, events int) {
	t.Helper()
	for _, ref := range controllerWrites(t, kubeAudit, websiteAudit) {
		switch {
		case ref.Namespace != namespace:
		case ref.Resource == "events":
			events++
		case ref.Resource == "websites" && ref.Subresource == "status":
		default:
			children++
		}
	}
	return children, events
}
