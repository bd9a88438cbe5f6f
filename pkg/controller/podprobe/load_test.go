package podprobe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

// manyPods is a fake client of pods: those in the namespace "good" respond, all others time out. Times
// are relative to the synctest bubble.
type manyPods struct {
	mu sync.Mutex
	// probed counts the probes by namespace, and answered has the time of the last answer of each
	// pod.
	probed   map[string]int
	answered map[string]time.Time
	status   agent.Status
}

func (p *manyPods) Get(ctx context.Context, pod *cached.Pod, _ Request) (int, []byte, error) {
	p.mu.Lock()
	p.probed[pod.Namespace]++
	p.mu.Unlock()
	if pod.Namespace != "good" {
		select {
		case <-time.After(requestTimeout):
		case <-ctx.Done():
		}
		return 0, nil, errors.New("timeout")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered[pod.Name] = time.Now()
	body, err := json.Marshal(p.status)
	return http.StatusOK, body, err
}

// set changes the answers of the pods.
func (p *manyPods) set(commit string, failure *agent.Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = statusOf(commit)
	p.status.Failure = failure
}

// took returns the number of probes of a namespace since the last call.
func (p *manyPods) took(namespace string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.probed[namespace]
	p.probed[namespace] = 0
	return n
}

const testPeriod = 30 * time.Second

// startMany runs a prober with as many workers as in the controller.
func startMany(t *testing.T) (*Prober, *manyPods) {
	t.Helper()
	pods := &manyPods{probed: map[string]int{}, answered: map[string]time.Time{}, status: statusOf(commitA)}
	p := New(Config{Client: pods, Period: testPeriod, Clock: clock.RealClock{}, Workers: 40, Share: 10})
	start(t, p)
	return p, pods
}

// start runs a prober until the end of the test and discards its changes.
func start(t *testing.T, p *Prober) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	running.Go(func() {
		for {
			select {
			case <-p.Changes():
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
}

func podOf(namespace string, i int) *cached.Pod {
	pod := newPod(fmt.Sprintf("%s-%d", namespace, i))
	pod.Namespace = namespace
	return pod
}

// TestSilentNamespaces: unresponsive pods in a few namespaces do not delay the probes of another
// namespace. With unresponsive pods in many namespaces, the delay is at most two request timeouts.
func TestSilentNamespaces(t *testing.T) {
	for name, test := range map[string]struct {
		namespaces int
		want       time.Duration
	}{
		"one":       {1, 0},
		"three":     {3, 0},
		"very many": {50, 2 * requestTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, pods := startMany(t)
				for i := range 2000 {
					namespace := fmt.Sprintf("silent-%d", i%test.namespaces)
					p.Probe(cache.NewObjectName(namespace, "site"), podOf(namespace, i))
				}
				worst := time.Duration(0)
				for i := range 100 {
					time.Sleep(700 * time.Millisecond)
					begin, pod := time.Now(), podOf("good", i)
					p.Probe(cache.NewObjectName("good", "site"), pod)
					time.Sleep(2*requestTimeout + time.Millisecond)
					synctest.Wait()
					pods.mu.Lock()
					answered := pods.answered[pod.Name]
					pods.mu.Unlock()
					if answered.IsZero() {
						t.Fatalf("pod %d was not probed", i)
					}
					worst = max(worst, answered.Sub(begin))
				}
				if worst > test.want {
					t.Errorf("a pod was probed after %v, want %v at most", worst, test.want)
				}
			})
		})
	}
}

// TestProbesAreBounded: each pod is probed once per period, with a few additional probes when all pods
// change at the same time.
func TestProbesAreBounded(t *testing.T) {
	const n, periods = 100, 20
	synctest.Test(t, func(t *testing.T) {
		p, pods := startMany(t)
		for i := range n {
			p.Probe(cache.NewObjectName("good", "site"), podOf("good", i))
		}
		time.Sleep(time.Second)
		pods.took("good")

		check := func(what string, extra int) {
			t.Helper()
			time.Sleep(periods * testPeriod)
			got, want := pods.took("good"), n*periods+extra
			t.Logf("%s: %d probes of %d pods in %d periods", what, got, n, periods)
			if got > want {
				t.Errorf("%s: %d probes, want %d at most", what, got, want)
			}
		}
		check("nothing happens", 0)
		pods.set(commitB, nil)
		check("a new commit", 2*n)
		pods.set(commitB, &agent.Failure{Reason: git.ReasonUnreachable, Count: 1})
		check("the git host is down", 4*n)
		check("it stays so", 0)
		for i := range n {
			for range 5 {
				p.Probe(cache.NewObjectName("good", "site"), podOf("good", i))
			}
		}
		check("all pods change, again and again", 2*n)
	})
}

// TestSiblingsAreProbedAtOnce: when a probe observes a new commit in one pod, the prober immediately
// probes the other pods of the Website.
func TestSiblingsAreProbedAtOnce(t *testing.T) {
	const n = 20
	synctest.Test(t, func(t *testing.T) {
		p, pods := startMany(t)
		for i := range n {
			p.Probe(cache.NewObjectName("good", "site"), podOf("good", i))
		}
		time.Sleep(5 * time.Second)
		commits := func() (count int) {
			for i := range n {
				if seen, _ := p.Observation(podOf("good", i).UID); seen.Commit == commitB {
					count++
				}
			}
			return count
		}
		pods.set(commitB, nil)
		p.Probe(cache.NewObjectName("good", "site"), podOf("good", 0))
		synctest.Wait()
		if got := commits(); got != n {
			t.Errorf("%d of %d pods are known to have the commit", got, n)
		}
	})
}
