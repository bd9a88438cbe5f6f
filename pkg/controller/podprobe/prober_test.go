package podprobe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

var (
	commitA = strings.Repeat("a", 40)
	commitB = strings.Repeat("b", 64)
)

// fakePods answers as one pod would.
type fakePods struct {
	mu     sync.Mutex
	status agent.Status
	// code is the status code of /status. Unless it is 200, the agent does not respond.
	code int
	// requested is called by every request.
	requested func()
	err       error
	// probes counts the requests for /status.
	probes int
}

func (p *fakePods) Get(_ context.Context, _ *cached.Pod, request Request) (int, []byte, error) {
	if p.requested != nil {
		p.requested()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch fmt.Sprintf("%d%s", request.Port, request.Path) {
	case "8081/status":
		p.probes++
		if p.err != nil || p.code != 0 {
			return p.code, nil, p.err
		}
		body, err := json.Marshal(p.status)
		return http.StatusOK, body, err
	case "8081/commit":
		if p.status.Commit == "" {
			return http.StatusServiceUnavailable, []byte("no commit\n"), nil
		}
		return http.StatusOK, []byte(p.status.Commit + "\n"), nil
	default:
		return http.StatusNotFound, nil, nil
	}
}

// statusOf returns the status of a pod that serves a commit and follows its repository.
func statusOf(commit string) agent.Status {
	contact := time.Unix(1e9, 0)
	return agent.Status{Commit: commit, PathFound: true, LastContact: &contact}
}

// fails makes a pod report a number of failed fetches in a row.
func fails(commit string, reason git.Reason, count int) func(*fakePods) {
	return func(p *fakePods) {
		p.status = statusOf(commit)
		p.status.Failure = &agent.Failure{Reason: reason, Count: count}
	}
}

func serves(commit string) func(*fakePods) {
	return func(p *fakePods) { p.status = statusOf(commit) }
}

func newPod(name string) *cached.Pod {
	return &cached.Pod{
		Identity: cached.Identity{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name)},
		Phase:    corev1.PodRunning, PodIP: "127.0.0.1",
	}
}

// testWebsite is the Website of the pods.
var testWebsite = cache.NewObjectName("default", "kubia")

// fixture is a prober of the pods "a" and "b", which answer alike.
type fixture struct {
	*Prober
	pods  *fakePods
	clock *testingclock.FakeClock
}

func newFixture(pods *fakePods) *fixture {
	f := &fixture{pods: pods, clock: testingclock.NewFakeClock(time.Unix(1e9, 0))}
	f.Prober = New(Config{Client: pods, Period: time.Minute, Clock: f.clock, Workers: 2, Share: 2})
	f.changes = make(chan cache.ObjectName, 1000)
	f.Probe(testWebsite, newPod("a"))
	f.Probe(testWebsite, newPod("b"))
	return f
}

// rested sets the last probe of every pod to long ago.
func (f *fixture) rested() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.Prober.pods {
		r.begun = time.Time{}
	}
}

// changed returns the number of reported changes since the last call.
func (f *fixture) changed(t *testing.T) int {
	t.Helper()
	changes := len(f.changes)
	for range changes {
		if website := <-f.changes; website != testWebsite {
			t.Errorf("a change of %s is reported", website)
		}
	}
	return changes
}

func (f *fixture) poll(t *testing.T) time.Duration {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	pod, turn, a := f.begin(ctx, "uid-of-a")
	if pod == nil {
		t.Fatal("there is no pod to probe")
	}
	begun := f.clock.Now()
	got, err := f.request(ctx, pod, a)
	return f.handleAnswer(ctx, pod, a, turn, begun, got, err)
}

func TestProbe(t *testing.T) {
	lost := func(p *fakePods) { p.err = errors.New("lost") }
	for name, test := range map[string]struct {
		// polls change the pod before each poll; 30 seconds are between them.
		polls []func(p *fakePods)
		want  workload.Observation
		// wantOK is false if no observation is expected.
		wantOK      bool
		wantChanges int
		wantAgain   time.Duration
	}{
		"served": {
			polls: []func(*fakePods){serves(commitA)},
			want:  workload.Observation{Reachable: true, Commit: commitA}, wantOK: true, wantChanges: 1,
			wantAgain: time.Minute,
		},
		"the same again is no change": {
			polls: []func(*fakePods){serves(commitA), nil, nil},
			want:  workload.Observation{Reachable: true, Commit: commitA}, wantOK: true, wantChanges: 1,
			wantAgain: time.Minute,
		},
		"another commit": {
			polls: []func(*fakePods){serves(commitA), serves(commitB)},
			want:  workload.Observation{Reachable: true, Commit: commitB}, wantOK: true, wantChanges: 2,
			wantAgain: time.Minute,
		},
		"path not found": {
			polls: []func(*fakePods){func(p *fakePods) { p.status = statusOf(commitA); p.status.PathFound = false }},
			want:  workload.Observation{Reachable: true, Commit: commitA, PathNotFound: true}, wantOK: true, wantChanges: 1,
			wantAgain: unhealthyPeriod,
		},
		"path never found": {
			polls: []func(*fakePods){fails("", git.ReasonPathNotFound, 1)},
			want:  workload.Observation{Reachable: true, PathNotFound: true}, wantOK: true, wantChanges: 1,
			wantAgain: unhealthyPeriod,
		},
		"one poll lost": {
			polls: []func(*fakePods){serves(commitA), lost},
			want:  workload.Observation{Reachable: true, Commit: commitA}, wantOK: true, wantChanges: 1,
			wantAgain: time.Minute,
		},
		"unreachable keeps the last observation": {
			polls: []func(*fakePods){serves(commitA), lost, nil},
			want:  workload.Observation{Commit: commitA}, wantOK: true, wantChanges: 2, wantAgain: unhealthyPeriod,
		},
		"never reached": {
			polls: []func(*fakePods){lost},
			// One failure does not make a pod unreachable.
			wantAgain: unhealthyPeriod,
		},
		"the remote becomes unreachable": {
			polls:  []func(*fakePods){serves(commitA), fails(commitA, git.ReasonUnreachable, 1)},
			want:   workload.Observation{Reachable: true, Commit: commitA, Failure: git.ReasonUnreachable},
			wantOK: true, wantChanges: 2, wantAgain: unhealthyPeriod,
		},
		"fails again and again": {
			polls: []func(*fakePods){fails("", git.ReasonAuthentication, 1), fails("", git.ReasonAuthentication, 2),
				fails("", git.ReasonAuthentication, 3)},
			want:   workload.Observation{Reachable: true, Failure: git.ReasonAuthentication, FailedTwice: true},
			wantOK: true, wantChanges: 2, wantAgain: 2 * unhealthyPeriod,
		},
		"a newer failure that is unknown": {
			polls:  []func(*fakePods){fails(commitA, git.ReasonNotFound, 1), fails(commitA, "Moon", 2)},
			want:   workload.Observation{Reachable: true, Commit: commitA, Failure: git.ReasonUnknown, FailedTwice: true},
			wantOK: true, wantChanges: 2, wantAgain: unhealthyPeriod,
		},
		"remote comes back": {
			polls:  []func(*fakePods){fails(commitA, git.ReasonTimedOut, 1), serves(commitA)},
			want:   workload.Observation{Reachable: true, Commit: commitA},
			wantOK: true, wantChanges: 2, wantAgain: time.Minute,
		},
		"slow first fetch is no failure": {
			polls: []func(*fakePods){nil, nil},
			want:  workload.Observation{Reachable: true, FollowingUnknown: true}, wantOK: true, wantChanges: 1,
			wantAgain: 2 * unhealthyPeriod,
		},
		"the agent does not answer once": {
			polls: []func(*fakePods){serves(commitA), func(p *fakePods) { p.code = http.StatusBadGateway }},
			want:  workload.Observation{Reachable: true, Commit: commitA}, wantOK: true, wantChanges: 1,
			wantAgain: unhealthyPeriod,
		},
		"the agent does not answer": {
			polls: []func(*fakePods){fails(commitA, git.ReasonNotFound, 1),
				func(p *fakePods) { p.code = http.StatusGatewayTimeout }, nil},
			want: workload.Observation{Reachable: true, Commit: commitA, Failure: git.ReasonNotFound,
				SyncUnreachable: true},
			wantOK: true, wantChanges: 2,
			wantAgain: unhealthyPeriod,
		},
		"the agent has never answered": {
			polls:  []func(*fakePods){func(p *fakePods) { p.status.Commit, p.code = commitA, http.StatusBadGateway }, nil},
			want:   workload.Observation{Reachable: true, Commit: commitA, FollowingUnknown: true, SyncUnreachable: true},
			wantOK: true, wantChanges: 2,
			// Such a probe holds a worker until its timeout, and the site is served.
			wantAgain: time.Minute,
		},
		"a new commit while the agent does not answer": {
			polls: []func(*fakePods){fails(commitA, git.ReasonNotFound, 2),
				func(p *fakePods) { p.status.Commit, p.code = commitB, http.StatusBadGateway }},
			want: workload.Observation{Reachable: true, Commit: commitB}, wantOK: true, wantChanges: 2,
			wantAgain: unhealthyPeriod,
		},
		"a pod without an agent": {
			polls: []func(*fakePods){func(p *fakePods) { p.status.Commit, p.code = commitA, http.StatusNotFound }, nil, nil},
			want:  workload.Observation{Reachable: true, Commit: commitA, FollowingUnknown: true}, wantOK: true,
			wantChanges: 1, wantAgain: time.Minute,
		},
		"something else than a commit": {
			polls: []func(*fakePods){serves(commitA), serves("<html>"), nil},
			want:  workload.Observation{Commit: commitA}, wantOK: true, wantChanges: 2, wantAgain: unhealthyPeriod,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(&fakePods{})
			var again time.Duration
			for _, change := range test.polls {
				if change != nil {
					change(f.pods)
				}
				again = f.poll(t)
				f.clock.Step(30 * time.Second)
			}
			got, ok := f.Observation("uid-of-a")
			if ok != test.wantOK || ok && got != test.want {
				t.Errorf("Observation() = %+v, %t, want %+v, %t", got, ok, test.want, test.wantOK)
			}
			if got := f.changed(t); got != test.wantChanges {
				t.Errorf("%d changes were reported, want %d", got, test.wantChanges)
			}
			if again != test.wantAgain {
				t.Errorf("asked again after %v, want %v", again, test.wantAgain)
			}
		})
	}
}

// TestOneRequestPerProbe: a responding agent gets one request, for its whole state.
func TestOneRequestPerProbe(t *testing.T) {
	f := newFixture(&fakePods{status: statusOf(commitA)})
	requests := 0
	f.pods.requested = func() { requests++ }
	f.poll(t)
	if requests != 1 {
		t.Errorf("a probe took %d requests, want 1", requests)
	}
}

// TestEndedPods: an evicted pod stays in the API for a long time; its last answer must not. It is not
// probed.
func TestEndedPods(t *testing.T) {
	f := newFixture(&fakePods{status: statusOf(commitA)})
	f.Forget("uid-of-b")
	f.poll(t)
	f.rested()
	probes := f.pods.probes
	ended := newPod("a")
	ended.Phase = corev1.PodSucceeded
	f.Probe(testWebsite, ended)
	_, ctx := ktesting.NewTestContext(t)
	for f.queue.Len() > 0 {
		f.next(ctx)
	}
	if got, ok := f.Observation(ended.UID); ok || f.pods.probes != probes {
		t.Errorf("ok (%t): %+v, probed %d times", ok, got, f.pods.probes-probes)
	}
}

// TestGoneWhileProbed: an observation of a pod that is deleted meanwhile would never be dropped,
// since no later event names the pod.
func TestGoneWhileProbed(t *testing.T) {
	f := newFixture(&fakePods{})
	f.Forget("uid-of-b")
	f.pods.requested = func() { f.Forget("uid-of-a") }
	_, ctx := ktesting.NewTestContext(t)
	for f.queue.Len() > 0 {
		f.next(ctx)
	}
	f.clock.Step(time.Hour)
	if len(f.Prober.pods) != 0 || f.queue.Len() != 0 {
		t.Errorf("%d pods are remembered, %d are to be probed", len(f.Prober.pods), f.queue.Len())
	}
}

func TestSiblingsAreProbedWhenACommitArrives(t *testing.T) {
	f := newFixture(&fakePods{status: statusOf(commitA)})
	f.Probe(cache.NewObjectName("default", "other"), newPod("c"))
	_, ctx := ktesting.NewTestContext(t)
	for f.queue.Len() > 0 {
		f.next(ctx)
	}
	f.pods.status = statusOf(commitB)
	f.rested()
	f.poll(t)
	if n := f.queue.Len(); n != 1 {
		t.Fatalf("%d pods are to be probed, want the sibling", n)
	}
	f.next(ctx)
	if got, _ := f.Observation("uid-of-b"); got.Commit != commitB {
		t.Errorf("the sibling is ok to serve %q, want %q", got.Commit, commitB)
	}
}

func TestRun(t *testing.T) {
	f := newFixture(&fakePods{status: statusOf(commitA)})
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	for range 2 {
		<-f.Changes()
	}
	for _, uid := range []types.UID{"uid-of-a", "uid-of-b"} {
		if _, ok := f.Observation(uid); !ok {
			t.Errorf("there is no observation of %s", uid)
		}
	}
	cancel()
	<-done
}

// TestForgottenPodsAreNotProbed: a pod that belongs to no Website any more gets no requests, and its
// last answer is dropped.
func TestForgottenPodsAreNotProbed(t *testing.T) {
	f := newFixture(&fakePods{status: statusOf(commitA)})
	_, ctx := ktesting.NewTestContext(t)
	// polls returns the number of probes.
	polls := func() int {
		before := f.pods.probes
		for f.queue.Len() > 0 {
			f.next(ctx)
		}
		return f.pods.probes - before
	}
	f.Forget("uid-of-b")
	if n := polls(); n == 0 {
		t.Fatal("a pod was not probed")
	}
	if _, ok := f.Observation("uid-of-a"); !ok {
		t.Fatal("there is no observation of the pod")
	}
	f.Probe(testWebsite, newPod("a"))
	f.Forget("uid-of-a")
	n := polls()
	if _, ok := f.Observation("uid-of-a"); ok || n != 0 {
		t.Errorf("a forgotten pod was probed %d times, ok: %t", n, ok)
	}
	f.Probe(testWebsite, newPod("a"))
	n = polls()
	if _, ok := f.Observation("uid-of-a"); !ok || n == 0 {
		t.Errorf("one that is back was probed %d times, ok: %t", n, ok)
	}
}

// TestBackoff: pods that do not respond hold a worker, so they are probed less and less often, and at
// the normal interval once they respond.
func TestBackoff(t *testing.T) {
	f := newFixture(&fakePods{err: errors.New("no route to host")})
	var waits []time.Duration
	for range 8 {
		waits = append(waits, f.poll(t))
	}
	want := []time.Duration{5 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second,
		80 * time.Second, 160 * time.Second, 4 * time.Minute}
	if !slices.Equal(waits, want) {
		t.Errorf("asked again after %v, want %v", waits, want)
	}
	f.pods.err, f.pods.status = nil, statusOf(commitA)
	if again := f.poll(t); again != time.Minute {
		t.Errorf("a pod that answers again is asked after %v, want %v", again, time.Minute)
	}
}
