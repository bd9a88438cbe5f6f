package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

// TestOriginalExample applies the unchanged example of the first version of
// the API. It names no branch, so the default branch is published, whatever
// its name.
func TestOriginalExample(t *testing.T) {
	t.Parallel()
	namespace := newNamespace(t)
	r := newRepository(t, "", namespace, "trunk")
	commit := r.release(t, "release-1")
	example, err := os.ReadFile(framework.Path("artifacts", "examples", "kubia.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const original = "https://github.com/nevermosby/kubia-website-example.git"
	if !strings.Contains(string(example), original) {
		t.Fatalf("the example does not name %s:\n%s", original, example)
	}
	manifest := strings.ReplaceAll(string(example), original, r.url)
	framework.KubectlWith(t, framework.Stdin(manifest), "apply", "--namespace="+namespace, "-f", "-")
	s := &site{namespace: namespace, name: "kubia", deployment: "kubia-website", repository: r}
	s.waitLive(t, commit)

	page := get(t.Context(), visitor, s.url(t)+"/")
	if want := releaseContent("index.html", "release-1"); page.status != http.StatusOK || page.body != want {
		t.Errorf("the page is %v, want %q", page, want)
	}
	if got := page.header.Get("Content-Type"); !strings.HasPrefix(got, "text/html") {
		t.Errorf("Content-Type = %q, want text/html", got)
	}
	s.waitReported(t, commit)
	s.kubectl(t, "wait", "--for=condition=Ready", "website/kubia", kubectlTimeout)
	if got := s.kubectl(t, "get", "websites"); !strings.Contains(got, "kubia") || !strings.Contains(got, commit[:7]) {
		t.Errorf("kubectl get websites printed\n%s\nwant commit %s in it", got, commit)
	}
	if got := s.kubectl(t, "get", "all"); !strings.Contains(got, "deployment.apps/kubia-website") {
		t.Errorf("kubectl get all printed\n%s", got)
	}
	s.kubectl(t, "delete", "website", "kubia")
	framework.WaitFor(t, "no pod serves the deleted site", func(ctx context.Context) error {
		pods, err := s.pods(ctx, framework.Admin(t).Kubernetes)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("there are %d pods", len(pods))
		}
		return err
	})
}

// TestPush pushes, rewrites history and changes the default branch while
// visitors load pages from three replicas: each visitor gets one commit or the
// next, and never an error.
func TestPush(t *testing.T) {
	t.Parallel()
	s := newSite(t, framework.WithReplicas(3))
	first := s.repository.git(t, "rev-parse", "HEAD")
	visitors := startTraffic(t, s)
	visitors.waitServed(t, first)

	second := s.repository.release(t, "release-2")
	s.waitLiveWithin(t, syncPeriod+syncMargin, second)
	visitors.waitServed(t, second)

	// The current commit is no ancestor of the force-pushed one.
	s.repository.git(t, "reset", "--quiet", "--hard", first)
	forced := s.repository.release(t, "release-2-rewritten", "--force")
	s.waitLiveWithin(t, syncPeriod+syncMargin, forced)
	visitors.waitServed(t, forced)

	s.repository.branch = "next"
	next := s.repository.release(t, "release-3")
	reported := s.reportedAt(t, next)
	s.repository.setHead(t, "next")
	s.waitLiveWithin(t, syncPeriod+syncMargin, next)
	visitors.waitServed(t, next)

	s.waitReported(t, next)
	s.logPublished(t, <-reported)
	visitors.finish(t)
}

// reportedAt sends the time at which the status first has a commit.
func (s *site) reportedAt(t *testing.T, commit string) <-chan time.Time {
	t.Helper()
	reported := make(chan time.Time, 1)
	watch, err := framework.Admin(t).Websites.WebsiteV1beta1().Websites(s.namespace).Watch(t.Context(),
		metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(reported)
		defer watch.Stop()
		for event := range watch.ResultChan() {
			if website, ok := event.Object.(*v1beta1.Website); ok && website.Status.Commit == commit {
				reported <- time.Now()
				return
			}
		}
	}()
	return reported
}

// logPublished logs the time between the replicas' publications of the current commit, and
// from the last of them to the status.
func (s *site) logPublished(t *testing.T, reported time.Time) {
	t.Helper()
	pods, err := s.pods(t.Context(), framework.Admin(t).Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	var first, last time.Time
	for _, pod := range pods {
		var status agent.Status
		answer := adminGet(t.Context(), pod, adminPort, "/status")
		if err := json.Unmarshal([]byte(answer.body), &status); err != nil || status.PublishedAt == nil {
			t.Fatalf("/status of pod %s: %v, %v", pod.Name, answer, err)
		}
		if at := *status.PublishedAt; first.IsZero() || at.Before(first) {
			first = at
		}
		if at := *status.PublishedAt; at.After(last) {
			last = at
		}
	}
	t.Logf("%d replicas published within %v; the commit was in the status %v later", len(pods), last.Sub(first),
		reported.Sub(last))
}

// TestRemoteGone makes the repository unreachable and reachable again: the site
// is served meanwhile, and follows it afterwards.
func TestRemoteGone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	visitors := startTraffic(t, s)
	pod := s.pod(t)
	away := s.repository.path + ".away"
	if err := os.Rename(s.repository.path, away); err != nil {
		t.Fatal(err)
	}
	framework.WaitFor(t, "a fetch has failed", syncFailed(t, s))
	s.waitCondition(t, v1beta1.WebsiteSynced, metav1.ConditionFalse, v1beta1.WebsiteReasonRepositoryNotFound)
	// The site is served independently of the repository.
	s.waitCondition(t, v1beta1.WebsiteReady, metav1.ConditionTrue, v1beta1.WebsiteReasonServing)
	if err := os.Rename(away, s.repository.path); err != nil {
		t.Fatal(err)
	}
	second := s.repository.release(t, "release-2")
	s.waitLiveWithin(t, syncPeriod+syncMargin, second)
	s.waitReported(t, second)
	visitors.finish(t)
	if now := s.pod(t); now.UID != pod.UID || restarts(now) != 0 {
		t.Errorf("pod %s with %d restarts serves the site, want pod %s as it was", now.Name, restarts(now), pod.Name)
	}
}
