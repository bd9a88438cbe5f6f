package e2e

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/test/framework"
)

var deploys = flag.Int("deploys", 0,
	"how many commits TestDeployTimes pushes and rolls back, with limits of the times; 0: it is skipped")

const (
	// deployInterval is the time between two pushes: requests to sync are started at most
	// every five seconds on average.
	deployInterval = 6 * time.Second
	// observeInterval is the interval of requesting the served commit from each pod.
	observeInterval = 10 * time.Millisecond
	// floodTime is the duration of a flood of requests to sync, and floodClients the number
	// of clients.
	floodTime, floodClients = time.Minute, 100
)

// podWatch observes the commits that pods serve.
type podWatch struct {
	mu      sync.Mutex
	commits map[string]string
	changed chan struct{}
}

// watchPods observes pods until the test ends.
func watchPods(t *testing.T, pods []corev1.Pod) *podWatch {
	t.Helper()
	w := &podWatch{commits: map[string]string{}, changed: make(chan struct{})}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	for _, pod := range pods {
		w.commits[pod.Name] = ""
		client := &http.Client{Timeout: 5 * time.Second}
		url := "http://" + net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(adminPort)) + "/commit"
		running.Go(func() {
			tick := time.NewTicker(observeInterval)
			defer tick.Stop()
			for ctx.Err() == nil {
				if got := get(ctx, client, url); got.err == nil {
					w.observe(pod.Name, strings.TrimSpace(got.body))
				}
				<-tick.C
			}
		})
	}
	t.Cleanup(func() { stop(); running.Wait() })
	return w
}

func (w *podWatch) observe(pod, commit string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.commits[pod] != commit {
		w.commits[pod] = commit
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// until returns when all pods serve a commit.
func (w *podWatch) until(t *testing.T, commit string) time.Time {
	t.Helper()
	over := time.After(framework.WaitTimeout)
	for {
		w.mu.Lock()
		missing := 0
		for _, served := range w.commits {
			if served != commit {
				missing++
			}
		}
		changed := w.changed
		w.mu.Unlock()
		if missing == 0 {
			return time.Now()
		}
		select {
		case <-changed:
		case <-over:
			t.Fatalf("%d pods do not serve commit %s", missing, commit)
		}
	}
}

// statusWatch observes the commit in the status.
type statusWatch struct {
	commits chan seenCommit
}

type seenCommit struct {
	commit string
	at     time.Time
}

func (s *site) watchStatus(t *testing.T) *statusWatch {
	t.Helper()
	watch, err := framework.Admin(t).Websites.WebsiteV1beta1().Websites(s.namespace).Watch(t.Context(),
		metav1.ListOptions{ResourceVersion: s.get(t).ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watch.Stop)
	w := &statusWatch{commits: make(chan seenCommit, 1000)}
	go func() {
		defer close(w.commits)
		for event := range watch.ResultChan() {
			if website, ok := event.Object.(*v1beta1.Website); ok {
				w.commits <- seenCommit{website.Status.Commit, time.Now()}
			}
		}
	}()
	return w
}

// until returns the time at which the status first had a commit.
func (w *statusWatch) until(t *testing.T, commit string) time.Time {
	t.Helper()
	over := time.After(framework.WaitTimeout)
	for {
		select {
		case seen, ok := <-w.commits:
			if !ok {
				t.Fatal("the watch of the Website has ended")
			}
			if seen.commit == commit {
				return seen.at
			}
		case <-over:
			t.Fatalf("commit %s is not in the status", commit)
		}
	}
}

// deployTimes are the durations of steps.
type deployTimes struct {
	order []string
	took  map[string][]time.Duration
}

func (d *deployTimes) note(step string, took time.Duration) {
	if d.took == nil {
		d.took = map[string][]time.Duration{}
	}
	if _, ok := d.took[step]; !ok {
		d.order = append(d.order, step)
	}
	d.took[step] = append(d.took[step], max(0, took))
}

func (d *deployTimes) String() string {
	table := &strings.Builder{}
	fmt.Fprintf(table, "%-58s %4s %9s %9s %9s\n", "", "n", "median", "p99", "longest")
	for _, step := range d.order {
		took := d.took[step]
		fmt.Fprintf(table, "%-58s %4d %9v %9v %9v\n", step, len(took), quantile(took, 0.5), quantile(took, 0.99),
			quantile(took, 1))
	}
	return table.String()
}

// These steps are measured.
const (
	stepServed    = "push, then sync: all 3 replicas serve the commit"
	stepReported  = "then: it is in status.commit"
	stepRollback  = "rollback to a release on disk: all 3 replicas serve it"
	stepUnpin     = "pin removed: all 3 replicas serve the newest commit"
	stepElsewhere = "push, then sync, while 100 clients flood another site"
	stepFlood     = "POST sync of one of the 100 clients"
	stepRead      = "GET of a Website meanwhile"
)

// TestDeployTimes measures the time from a push to the page on all replicas, of a rollback to
// the release before, and of the return.
func TestDeployTimes(t *testing.T) {
	if *deploys == 0 {
		t.Skip("-deploys is 0: \"make bench-deploys\" measures")
	}
	s := newSite(t, framework.WithReplicas(3), withoutPolling)
	pods, err := s.pods(t.Context(), framework.Admin(t).Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	observed, times := watchPods(t, pods), &deployTimes{}
	before := s.repository.git(t, "rev-parse", "HEAD")
	for round := range *deploys {
		next := time.After(deployInterval)
		before = s.measureRound(t, observed, times, before, fmt.Sprintf("round-%d", round))
		<-next
	}
	s.measureFlood(t, observed, times)
	t.Logf("%d rounds:\n%s", *deploys, times)
	for step, limit := range map[string]time.Duration{
		stepServed: time.Second, stepReported: time.Second, stepRollback: time.Second / 2, stepUnpin: time.Second / 2,
		stepElsewhere: time.Second, stepRead: time.Second / 10,
	} {
		if took := quantile(times.took[step], 0.99); took > limit {
			t.Errorf("%s: p99 is %v, want at most %v", step, took, limit)
		}
	}
}

// measureRound pushes a commit, rolls back to the one before, and returns to the pushed one.
func (s *site) measureRound(t *testing.T, observed *podWatch, times *deployTimes, before,
	marker string) (pushed string) {
	t.Helper()
	pushed = s.repository.release(t, marker)
	reported := s.watchStatus(t)
	begun := time.Now()
	s.mustPost(t, "sync", "", nil)
	served := observed.until(t, pushed)
	times.note(stepServed, served.Sub(begun))
	times.note(stepReported, reported.until(t, pushed).Sub(served))

	begun = time.Now()
	s.mustPost(t, "rollback", "{}", nil)
	times.note(stepRollback, observed.until(t, before).Sub(begun))
	s.waitNewest(t, before, v1beta1.ReleaseCauseRollback)

	begun = time.Now()
	if _, err := framework.Admin(t).Websites.WebsiteV1beta1().Websites(s.namespace).Patch(t.Context(), s.name,
		"application/merge-patch+json",
		[]byte(`{"spec": {"pin": null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	times.note(stepUnpin, observed.until(t, pushed).Sub(begun))
	s.waitNewest(t, pushed, v1beta1.ReleaseCauseSpec)
	return pushed
}

// measureFlood pushes commits while clients flood the server with requests to sync another
// site.
func (s *site) measureFlood(t *testing.T, observed *podWatch, times *deployTimes) {
	t.Helper()
	flooded := newSite(t, withoutPolling)
	ctx, stop := context.WithTimeout(t.Context(), floodTime)
	defer stop()
	posted := flooded.flood(ctx, t, floodClients)
	reads := make(chan []time.Duration, 1)
	go func() {
		var took []time.Duration
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			begun := time.Now()
			s.get(t)
			took = append(took, time.Since(begun))
			<-tick.C
		}
		reads <- took
	}()
	for round := 0; ctx.Err() == nil; round++ {
		next := time.After(deployInterval)
		commit := s.repository.release(t, fmt.Sprintf("flood-%d", round))
		begun := time.Now()
		s.mustPost(t, "sync", "", nil)
		times.note(stepElsewhere, observed.until(t, commit).Sub(begun))
		<-next
	}
	result := <-posted
	if result.failed != nil {
		t.Errorf("a request to sync failed: %v", result.failed)
	}
	for _, took := range result.took {
		times.note(stepFlood, took)
	}
	for _, took := range <-reads {
		times.note(stepRead, took)
	}
	if pod, err := statusOf(t.Context(), flooded.pod(t)); err == nil {
		t.Logf("the flooded site: %d requests, the last one answered by its pod is %s", len(result.took), pod.Synced)
	}
}
