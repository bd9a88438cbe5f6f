package integration

import (
	"context"
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

var settledWebsites = flag.Int("settled-websites", 200, "over how many settled Websites the controller is restarted")

// What the controller may write until a new Website is Ready. The events are that
// the Deployment and the Service were created.
const (
	maxChildWrites  = 5
	maxStatusWrites = 2
	wantEvents      = 2
)

// controllerWrites returns what the controller has written since the audit logs had
// the given lengths, by both API servers. One that forwards a request to the
// other does not count it again.
func controllerWrites(t *testing.T, kubeAudit, websiteAudit int64) []*auditv1.ObjectReference {
	t.Helper()
	var writes []*auditv1.ObjectReference
	for _, log := range []struct {
		component string
		from      int64
	}{{"kube-apiserver", kubeAudit}, {"website-apiserver", websiteAudit}} {
		for _, event := range auditEvents(t, log.component, log.from) {
			if event.User.Username != controllerUser || !mutating(event.Verb) || event.ObjectRef == nil {
				continue
			}
			forwarded := event.ObjectRef.APIGroup == v1beta1.GroupName && log.component == "kube-apiserver"
			review := event.ObjectRef.APIGroup == "authentication.k8s.io" || event.ObjectRef.APIGroup == "authorization.k8s.io"
			if !forwarded && !review {
				writes = append(writes, event.ObjectRef)
			}
		}
	}
	return writes
}

// TestWritesOfACreation counts what it takes until a new Website is Ready.
func TestWritesOfACreation(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int32{1, 3} {
		t.Run(fmt.Sprintf("replicas-%d", replicas), func(t *testing.T) {
			namespace := newNamespace(t)
			kubeAudit, websiteAudit := auditLength(t, "kube-apiserver"), auditLength(t, "website-apiserver")
			created := mustCreate(t, newWebsite(namespace, "kubia", withReplicas(replicas)))
			statuses := changesUntilReady(t, created)
			// Events are written in the background. When those of a Website that was
			// created later are there, there are no more to come of this one.
			waitEvents := func(namespace string) {
				t.Helper()
				waitFor(t, "the events of the Website in "+namespace+" are written", func(context.Context) error {
					if _, events := writesIn(t, namespace, kubeAudit, websiteAudit); events < wantEvents {
						return fmt.Errorf("there are %d", events)
					}
					return nil
				})
			}
			waitEvents(namespace)
			later := newNamespace(t)
			mustCreate(t, newWebsite(later, "later"))
			waitReady(t, later, "later")
			waitEvents(later)

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

// changesUntilReady returns how often a Website has changed since it was created
// when it becomes Ready. Nobody but the controller changes it, and the watch shows
// each of its writes, however late somebody looks.
func changesUntilReady(t *testing.T, created *v1alpha1.Website) int {
	t.Helper()
	watcher := startWatch(t, betaClient(t, created.Namespace), metav1.ListOptions{ResourceVersion: created.ResourceVersion})
	timeout := time.After(waitTimeout)
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

// writesIn counts the controller's writes in a namespace, but those of statuses.
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

// waitReady waits as kubectl wait --for=condition=Ready does.
func waitReady(t *testing.T, namespace, name string) {
	t.Helper()
	websites := admin(t).websites.WebsiteV1beta1().Websites(namespace)
	waitFor(t, fmt.Sprintf("Website %s is Ready", name), func(ctx context.Context) error {
		current, err := websites.Get(ctx, name, metav1.GetOptions{})
		if err == nil && !meta.IsStatusConditionTrue(current.Status.Conditions, v1beta1.WebsiteReady) {
			err = fmt.Errorf("conditions = %+v", current.Status.Conditions)
		}
		return err
	})
}

// TestRestartedControllerWritesNothing restarts the controller over many settled
// Websites: only its lease may be written. Most are offline, so that the test is
// about the controller and not about a thousand pods.
func TestRestartedControllerWritesNothing(t *testing.T) {
	ctx, namespace := t.Context(), newCrowd(t, *settledWebsites)
	controller := cluster.Process("website-controller")
	waitFor(t, "the controller has nothing left to do", func(ctx context.Context) error { return controllerIdle(ctx, t) })
	if err := controller.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	kubeAudit, websiteAudit := auditLength(t, "kube-apiserver"), auditLength(t, "website-apiserver")
	restarted := time.Now()
	if err := controller.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := controller.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the controller has looked at every Website", func(ctx context.Context) error {
		passes, err := controllerPasses(ctx, t)
		if err == nil && passes < *settledWebsites {
			err = fmt.Errorf("%d passes", passes)
		}
		return err
	})
	t.Logf("looked at %d Websites %s after the restart", *settledWebsites, time.Since(restarted).Round(time.Millisecond))
	// A status that is not urgent is written a little later. By the time that a
	// Website created now is served, and one created after that, it has been.
	others := newNamespace(t)
	for _, name := range []string{"last", "very-last"} {
		waitAvailable(t, mustCreate(t, newWebsite(others, name)), 1)
		waitReady(t, others, name)
	}
	waitFor(t, "the controller has nothing left to do", func(ctx context.Context) error { return controllerIdle(ctx, t) })

	for _, ref := range controllerWrites(t, kubeAudit, websiteAudit) {
		lease := ref.Resource == "leases" && ref.Namespace == "website-system" && ref.Name == "website-controller"
		if !lease && ref.Namespace != others {
			t.Errorf("%s %s/%s %s was written after a restart, want no writes", ref.Resource, ref.Namespace, ref.Name, ref.Subresource)
		}
	}
	if t.Failed() {
		t.Logf("in namespace %s", namespace)
	}
}

// newCrowd creates n settled Websites, of which some have pods. Their namespace
// goes away with the cluster: deleting them would keep it busy during other tests.
func newCrowd(t *testing.T, n int) string {
	t.Helper()
	ctx, client, namespace := t.Context(), admin(t), "crowd"
	if _, err := client.kubernetes.CoreV1().Namespaces().Create(ctx, namespaceCalled(namespace), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	const creators = 8
	var pool sync.WaitGroup
	for c := range creators {
		pool.Go(func() {
			for i := c; i < n; i += creators {
				replicas := int32(0)
				if i < 10 {
					replicas = int32(i % 3)
				}
				w := newWebsite(namespace, fmt.Sprintf("w%d", i), withReplicas(replicas))
				if _, err := client.websites.WebsiteV1alpha1().Websites(namespace).Create(ctx, w, metav1.CreateOptions{}); err != nil {
					t.Errorf("creating Website %d: %v", i, err)
					return
				}
			}
		})
	}
	pool.Wait()
	if t.Failed() {
		t.FailNow()
	}
	settled := func(ctx context.Context, limit int) error {
		list, err := client.websites.WebsiteV1beta1().Websites(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		open := 0
		for _, w := range list.Items {
			if w.Status.ObservedGeneration != w.Generation || w.Status.AvailableReplicas != *w.Spec.Replicas || w.Status.NodePort == 0 ||
				meta.IsStatusConditionTrue(w.Status.Conditions, v1beta1.WebsiteProgressing) && *w.Spec.Replicas > w.Status.UpdatedReplicas {
				open++
			}
		}
		if open > limit || len(list.Items) != n {
			return fmt.Errorf("%d of %d are not", open, len(list.Items))
		}
		return nil
	}
	// A wait is bounded, whatever the number of Websites.
	for limit := n - n%100; limit >= 0; limit -= 100 {
		waitFor(t, fmt.Sprintf("all but %d Websites are settled", limit), func(ctx context.Context) error { return settled(ctx, limit) })
	}
	t.Logf("%d Websites settled after %s", n, time.Since(started).Round(time.Millisecond))
	return namespace
}

var passesMetric = regexp.MustCompile(`(?m)^website_controller_reconciles_total\{[^}]*\} ([0-9.e+]+)$`)

// controllerPasses returns how many passes the controller has made since it
// started.
func controllerPasses(ctx context.Context, t *testing.T) (int, error) {
	t.Helper()
	_, body, err := secureGet(ctx, t, controllerURL()+"/metrics", true)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, match := range passesMetric.FindAllStringSubmatch(body, -1) {
		value, err := strconv.ParseFloat(match[1], 64)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return int(sum), nil
}
