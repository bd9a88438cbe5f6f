package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// withoutPolling disables polling: all fetches within a test are requested.
func withoutPolling(w *v1beta1.Website) { w.Spec.Polling.Mode = v1beta1.PollingModeNever }

// post posts a body to a subresource of the Website.
func (s *site) post(ctx context.Context, t *testing.T, subresource, body string, parameters map[string]string) error {
	t.Helper()
	request := framework.Admin(t).Websites.WebsiteV1beta1().RESTClient().Post().
		Namespace(s.namespace).Resource("websites").Name(s.name).SubResource(subresource).
		SetHeader("Content-Type", "application/json").Body([]byte(body))
	for name, value := range parameters {
		request.Param(name, value)
	}
	return request.Do(ctx).Error()
}

// waitSync waits as long as kube-apiserver permits for a request.
var waitSync = map[string]string{"timeoutSeconds": "50"}

func (s *site) mustPost(t *testing.T, subresource, body string, parameters map[string]string) {
	t.Helper()
	if err := s.post(t.Context(), t, subresource, body, parameters); err != nil {
		t.Fatalf("POST %s of %s: %v", subresource, s.name, err)
	}
}

// statusOf returns the status that the agent of a pod reports.
func statusOf(ctx context.Context, pod corev1.Pod) (agent.Status, error) {
	var status agent.Status
	answer := adminGet(ctx, pod, adminPort, "/status")
	if answer.err != nil || answer.status != http.StatusOK {
		return status, fmt.Errorf("/status of pod %s: %v", pod.Name, answer)
	}
	return status, json.Unmarshal([]byte(answer.body), &status)
}

// podUIDs returns the UIDs of the site's pods.
func (s *site) podUIDs(t *testing.T) sets.Set[string] {
	t.Helper()
	pods, err := s.pods(t.Context(), framework.Admin(t).Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	uids := sets.New[string]()
	for _, pod := range pods {
		uids.Insert(string(pod.UID))
	}
	return uids
}

// waitNewest waits until the first entry of the history is a commit that was published for a cause.
func (s *site) waitNewest(t *testing.T, commit string, cause v1beta1.ReleaseCause) v1beta1.WebsiteRelease {
	t.Helper()
	var newest v1beta1.WebsiteRelease
	framework.WaitFor(t, "the history begins with the commit", func(context.Context) error {
		status := s.get(t).Status
		if len(status.History) == 0 || status.History[0].Commit != commit || status.Commit != commit {
			return fmt.Errorf("the commit is %s, the history %v", status.Commit, status.History)
		}
		newest = status.History[0]
		return nil
	})
	if newest.Cause != cause {
		t.Errorf("commit %s was published because of %s, want %s", commit, newest.Cause, cause)
	}
	return newest
}

// TestSyncAtOnce pushes to a repository that is not polled: all replicas serve the commit
// when the request to sync is answered, which reports the reason otherwise.
func TestSyncAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, framework.WithReplicas(3), withoutPolling)
	first := s.repository.git(t, "rev-parse", "HEAD")
	visitors := startTraffic(t, s)

	second := s.repository.release(t, "release-2")
	s.mustPost(t, "sync", "", waitSync)
	visitors.waitServed(t, second)
	s.waitServedNow(t, second)
	newest := s.waitNewest(t, second, v1beta1.ReleaseCauseSync)
	if newest.Subject != "release-2" || newest.Author != "e2e" || newest.ObservedTime == nil {
		t.Errorf("the release is %+v, want its subject, its author and when it was requested", newest)
	}
	if sync := s.get(t).Status.Sync; sync.LastRequest.By == "" || sync.LastCompleted.Commit != second ||
		sync.LastCompleted.Result != v1beta1.SyncSucceeded {
		t.Errorf("the request is %+v", sync)
	}

	third := s.repository.release(t, "release-3")
	s.mustPost(t, "sync", fmt.Sprintf(`{"commit": %q}`, third), waitSync)
	s.waitServedNow(t, third)
	// The branch points to another commit.
	if err := s.post(t.Context(), t, "sync", fmt.Sprintf(`{"commit": %q}`, first), waitSync); err == nil ||
		!strings.Contains(err.Error(), third) {
		t.Errorf("a request for a commit that the branch does not lead to: %v", err)
	}
	s.waitEvent(t, "SyncFailed")

	away := s.repository.makeUnreachable(t)
	if err := s.post(t.Context(), t, "sync", "", waitSync); err == nil ||
		!strings.Contains(err.Error(), "the repository does not exist") {
		t.Errorf("a request while the repository is away: %v", err)
	}
	s.waitServedNow(t, third)
	away()
	fourth := s.repository.release(t, "release-4")
	s.mustPost(t, "sync", "", waitSync)
	s.waitServedNow(t, fourth)
	visitors.finish(t)
}

// waitServedNow checks that all pods serve a commit.
func (s *site) waitServedNow(t *testing.T, commit string) {
	t.Helper()
	pods, err := s.pods(t.Context(), framework.Admin(t).Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods {
		if got := adminGet(t.Context(), pod, adminPort, "/commit"); got.body != commit+"\n" {
			t.Errorf("pod %s serves %q, want %s", pod.Name, got.body, commit)
		}
	}
}

// waitEvent waits until there is an event with a reason on the Website.
func (s *site) waitEvent(t *testing.T, reason string) {
	t.Helper()
	framework.WaitFor(t, "there is an event "+reason, func(ctx context.Context) error {
		events, err := framework.Admin(t).Kubernetes.EventsV1().Events(s.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Regarding.Kind == "Website" && event.Regarding.Name == s.name && event.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("there is none among %d", len(events.Items))
	})
}

// TestRollback rolls back to a release on disk and forward again, without another pod, and
// pins the commit for pods that are new.
func TestRollback(t *testing.T) {
	t.Parallel()
	s := newSite(t, framework.WithReplicas(3), withoutPolling)
	first := s.repository.git(t, "rev-parse", "HEAD")
	second := s.repository.release(t, "release-2")
	s.mustPost(t, "sync", "", waitSync)
	s.waitNewest(t, second, v1beta1.ReleaseCauseSync)
	visitors := startTraffic(t, s)
	pods := s.podUIDs(t)

	s.mustPost(t, "rollback", "{}", nil)
	s.waitNewest(t, first, v1beta1.ReleaseCauseRollback)
	visitors.waitServed(t, first)
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionTrue, v1beta1.WebsiteReasonPinned)
	s.waitEvent(t, "RolledBack")
	if w := s.get(t); w.Spec.PinnedCommit() != first {
		t.Errorf("spec.pin is %q, want %s", w.Spec.PinnedCommit(), first)
	}

	// A pushed commit is fetched and not served.
	third := s.repository.release(t, "release-3")
	if err := s.post(t.Context(), t, "sync", "", waitSync); err == nil || !strings.Contains(err.Error(), "pin") {
		t.Errorf("a request while the Website is pinned: %v", err)
	}
	framework.WaitFor(t, "the commit is fetched by all pods", func(ctx context.Context) error {
		all, err := s.pods(ctx, framework.Admin(t).Kubernetes)
		if err != nil {
			return err
		}
		for _, pod := range all {
			if status, err := statusOf(ctx, pod); err != nil || status.Newest != third || status.Commit != first {
				return fmt.Errorf("pod %s serves %s and has fetched %s: %w", pod.Name, status.Commit, status.Newest, err)
			}
		}
		return nil
	})

	s.patch(t, `{"spec": {"pin": null}}`)
	s.waitNewest(t, third, v1beta1.ReleaseCauseSpec)
	s.waitServedNow(t, third)
	visitors.waitServed(t, third)
	visitors.finish(t)
	if now := s.podUIDs(t); !now.Equal(pods) {
		t.Errorf("pods %v serve the site, want %v", now, pods)
	}
}

// TestPinnedPodsAreReplaced is not parallel, as it stops the controller. A new pod, or one
// with a restarted container, serves the pinned commit without it.
func TestPinnedPodsAreReplaced(t *testing.T) {
	s := newSite(t, framework.WithReplicas(2), withoutPolling)
	first := s.repository.git(t, "rev-parse", "HEAD")
	second := s.repository.release(t, "release-2")
	s.mustPost(t, "sync", "", waitSync)
	s.waitNewest(t, second, v1beta1.ReleaseCauseSync)
	s.mustPost(t, "rollback", "{}", nil)
	s.waitNewest(t, first, v1beta1.ReleaseCauseRollback)

	startController := framework.StopController(t)
	before := s.podUIDs(t)
	s.kubectl(t, "delete", "pod", "--selector=controller="+s.name, "--wait=false")
	s.kubectl(t, "scale", "deployment", s.deployment, "--replicas=3")
	framework.WaitFor(t, "three new pods serve the pinned commit", func(ctx context.Context) error {
		pods, err := s.pods(ctx, framework.Admin(t).Kubernetes)
		if err != nil {
			return err
		}
		if len(pods) != 3 {
			return fmt.Errorf("there are %d", len(pods))
		}
		for _, pod := range pods {
			if !ready(pod) || before.Has(string(pod.UID)) {
				return fmt.Errorf("pod %s is not ready, or an earlier one", pod.Name)
			}
			if got := adminGet(ctx, pod, adminPort, "/commit"); got.body != first+"\n" {
				return fmt.Errorf("pod %s serves %q", pod.Name, got.body)
			}
		}
		return nil
	})
	startController()
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionTrue, v1beta1.WebsiteReasonPinned)
	s.patch(t, `{"spec": {"pin": null}}`)
	s.waitNewest(t, second, v1beta1.ReleaseCauseSpec)
}

// TestSyncAcrossARestart is not parallel, as it restarts the controller during a request
// to sync. The next controller completes the request.
func TestSyncAcrossARestart(t *testing.T) {
	s := newSite(t, framework.WithReplicas(2), withoutPolling)
	second := s.repository.release(t, "release-2")
	posted := make(chan error, 1)
	go func() { posted <- s.post(t.Context(), t, "sync", "", waitSync) }()
	framework.WaitFor(t, "the request is recorded", func(context.Context) error {
		if s.get(t).Status.Sync == nil {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	framework.StopController(t)()
	if err := <-posted; err != nil && !apierrors.IsTimeout(err) {
		t.Errorf("the request was answered with: %v", err)
	}
	s.waitNewest(t, second, v1beta1.ReleaseCauseSync)
	framework.WaitFor(t, "the request is completed", func(context.Context) error {
		if sync := s.get(t).Status.Sync; sync.LastCompleted == nil || sync.LastCompleted.ID < sync.LastRequest.ID {
			return fmt.Errorf("it is %+v", sync)
		}
		return nil
	})
}

// TestPinNotOnDisk pins a commit that no pod has: it is fetched. A commit that the host
// does not have is reported, and the current one stays online.
func TestPinNotOnDisk(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	r := newRepository(t, "", namespace, "main")
	first := r.release(t, "release-1")
	second := r.release(t, "release-2")
	s := applySite(t, newWebsite(namespace, r, framework.WithReplicas(2), withoutPolling), r)
	s.waitLive(t, second)
	pods := s.podUIDs(t)

	s.patch(t, fmt.Sprintf(`{"spec": {"pin": {"commit": %q}}}`, first))
	s.waitNewest(t, first, v1beta1.ReleaseCauseRollback)
	s.patch(t, fmt.Sprintf(`{"spec": {"pin": {"commit": %q}}}`, strings.Repeat("0123456789", 4)))
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionFalse, v1beta1.WebsiteReasonCommitRefused)
	s.waitServedNow(t, first)
	s.patch(t, `{"spec": {"pin": null}}`)
	s.waitNewest(t, second, v1beta1.ReleaseCauseSpec)
	if now := s.podUIDs(t); !now.Equal(pods) {
		t.Errorf("pods %v serve the site, want %v", now, pods)
	}
}

// TestUnsignedRequests sends a pod the controller's requests without a signature: they are rejected
// and counted.
func TestUnsignedRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t, withoutPolling)
	commit := s.repository.git(t, "rev-parse", "HEAD")
	pod := s.pod(t)
	before, err := statusOf(t.Context(), pod)
	if err != nil {
		t.Fatal(err)
	}
	refused := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests}
	for _, parameters := range []string{
		requests.ParameterSync + "=x", requests.ParameterPin + "=" + strings.Repeat("a",
			40) + "&" + requests.ParameterGeneration + "=99",
		requests.ParameterHold + "=true&wait=1s", requests.ParameterExpect + "=" + strings.Repeat("a", 40),
		requests.ParameterRelease + "=" + commit,
	} {
		if got := adminGet(t.Context(), pod, adminPort, "/status?"+parameters); !slices.Contains(refused, got.status) {
			t.Errorf("/status?%s is answered with %v", parameters, got)
		}
	}
	after, err := statusOf(t.Context(), pod)
	if err != nil {
		t.Fatal(err)
	}
	if n := after.Counts.RefusedRequests - before.Counts.RefusedRequests; n < 5 {
		t.Errorf("%d requests were counted, want 5", n)
	}
	if after.Commit != commit || after.Synced != before.Synced {
		t.Errorf("a request that was refused has changed the pod: %+v", after)
	}
}

// TestSyncFlood has many clients request syncs of one site: another site is synced without
// additional delay, and the pods of the first fetch at intervals.
func TestSyncFlood(t *testing.T) {
	t.Parallel()
	flooded, other := newSite(t, withoutPolling), newSite(t, withoutPolling)
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	posted := flooded.flood(ctx, t, 20)
	for i := range 2 {
		commit := other.repository.release(t, fmt.Sprintf("release-%d", i+2))
		other.mustPost(t, "sync", "", waitSync)
		other.waitServedNow(t, commit)
	}
	<-ctx.Done()
	result := <-posted
	if result.failed != nil {
		t.Errorf("a request to sync failed: %v", result.failed)
	}
	t.Logf("%d requests to sync, p99 %v", len(result.took), quantile(result.took, 0.99))
	history := flooded.get(t).Status.History
	if len(history) != 1 {
		t.Errorf("the history of a site without a push is %v", history)
	}
}

type floodResult struct {
	took   []time.Duration
	failed error
}

// flood makes clients request syncs, each ten times a second, until ctx ends.
func (s *site) flood(ctx context.Context, t *testing.T, clients int) <-chan floodResult {
	t.Helper()
	each, all := make(chan floodResult, clients), make(chan floodResult, 1)
	for range clients {
		go func() {
			var result floodResult
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				begun := time.Now()
				if err := s.post(context.WithoutCancel(ctx), t, "sync", "", nil); err != nil && result.failed == nil {
					result.failed = err
				}
				result.took = append(result.took, time.Since(begun))
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
			each <- result
		}()
	}
	go func() {
		var sum floodResult
		for range clients {
			result := <-each
			sum.took = append(sum.took, result.took...)
			if sum.failed == nil {
				sum.failed = result.failed
			}
		}
		all <- sum
	}()
	return all
}

// quantile returns a quantile of durations.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Round(time.Millisecond)
}
