package podprobe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

var (
	commitA = strings.Repeat("a", 40)
	commitB = strings.Repeat("b", 64)
)

// fakePods answers as one pod would.
type fakePods struct {
	mu      sync.Mutex
	commit  string
	startup string
	counts  map[string]int
	log     string
	// requested is called by every request.
	requested func()
	// reading is called while the log is read.
	reading func()
	err     error
	// noMetrics makes git-sync silent.
	noMetrics bool
	logReads  int
	polls     int
	// eviction is what Eviction returns, once it was asked evictedAfter times.
	eviction      string
	evictedAfter  int
	evictionReads int
}

func (p *fakePods) Get(_ context.Context, _ *corev1.Pod, port int32, path string) (int, []byte, error) {
	if p.requested != nil {
		p.requested()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch fmt.Sprintf("%d%s", port, path) {
	case "8081/commit":
		p.polls++
		if p.err != nil {
			return 0, nil, p.err
		}
		if p.commit == "" {
			return http.StatusServiceUnavailable, []byte("no commit\n"), nil
		}
		return http.StatusOK, []byte(p.commit + "\n"), nil
	case "8081/startupz":
		if p.startup != "" {
			return http.StatusServiceUnavailable, []byte(p.startup + "\n"), nil
		}
		return http.StatusOK, []byte("ok\n"), nil
	case "8082/metrics":
		if p.noMetrics {
			return 0, nil, errors.New("connection refused")
		}
		var body strings.Builder
		for status, count := range p.counts {
			fmt.Fprintf(&body, "git_sync_count_total{status=%q} %d\n", status, count)
		}
		return http.StatusOK, []byte(body.String()), nil
	default:
		return http.StatusNotFound, nil, nil
	}
}

func (p *fakePods) Log(context.Context, *corev1.Pod) (string, error) {
	if p.reading != nil {
		p.reading()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logReads++
	return p.log, nil
}

func (p *fakePods) Eviction(context.Context, *corev1.Pod) (string, error) {
	if p.requested != nil {
		p.requested()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.evictionReads++; p.evictionReads <= p.evictedAfter {
		return "", p.err
	}
	return p.eviction, nil
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name)},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "127.0.0.1"},
	}
}

// testWebsite is whose the pods are.
var testWebsite = cache.NewObjectName("default", "kubia")

// fixture is a prober of the pods "a" and "b", which answer alike.
type fixture struct {
	*Prober
	pods  *fakePods
	clock *testingclock.FakeClock
}

func newFixture(pods *fakePods) *fixture {
	f := &fixture{pods: pods, clock: testingclock.NewFakeClock(time.Unix(1e9, 0))}
	f.Prober = New(Config{Client: pods, Period: time.Minute, Clock: f.clock})
	f.changes = make(chan cache.ObjectName, 1000)
	f.Probe(testWebsite, newPod("a"))
	f.Probe(testWebsite, newPod("b"))
	return f
}

// changed returns how often a change was reported since the last call.
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
	return f.probe(ctx, newPod("a"))
}

func TestProbe(t *testing.T) {
	good := map[string]int{"success": 1}
	for name, test := range map[string]struct {
		// polls change the pod before each poll; 30 seconds are between them.
		polls []func(p *fakePods)
		want  workload.Observation
		// wantKnown is false when there is nothing to say.
		wantKnown    bool
		wantChanges  int
		wantAgain    time.Duration
		wantLogReads int
	}{
		"served": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts = commitA, good }},
			want:  workload.Observation{Reachable: true, Commit: commitA}, wantKnown: true, wantChanges: 1, wantAgain: time.Minute,
		},
		"the same again is no news": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts = commitA, good }, nil, nil},
			want:  workload.Observation{Reachable: true, Commit: commitA}, wantKnown: true, wantChanges: 1, wantAgain: time.Minute,
		},
		"another commit": {
			polls: []func(*fakePods){
				func(p *fakePods) { p.commit, p.counts = commitA, good },
				func(p *fakePods) { p.commit, p.counts = commitB, map[string]int{"success": 2} },
			},
			want: workload.Observation{Reachable: true, Commit: commitB}, wantKnown: true, wantChanges: 2, wantAgain: time.Minute,
		},
		"path not found": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts, p.startup = commitA, good, "path not found" }},
			want:  workload.Observation{Reachable: true, Commit: commitA, PathNotFound: true}, wantKnown: true, wantChanges: 1, wantAgain: unsettledPeriod,
		},
		"one poll lost": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts = commitA, good }, func(p *fakePods) { p.err = errors.New("lost") }},
			want:  workload.Observation{Reachable: true, Commit: commitA}, wantKnown: true, wantChanges: 1, wantAgain: time.Minute,
		},
		"unreachable keeps what was known": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts = commitA, good }, func(p *fakePods) { p.err = errors.New("lost") }, nil},
			want:  workload.Observation{Commit: commitA}, wantKnown: true, wantChanges: 2, wantAgain: unsettledPeriod,
		},
		"never reached": {
			polls: []func(*fakePods){func(p *fakePods) { p.err = errors.New("lost") }},
			// Once is not enough to say so.
			wantAgain: unsettledPeriod,
		},
		"remote goes away": {
			polls: []func(*fakePods){
				func(p *fakePods) { p.commit, p.counts = commitA, good },
				func(p *fakePods) {
					p.counts = map[string]int{"success": 1, "error": 1}
					p.log = "fatal: unable to access 'https://user:secret@example.com/': Could not resolve host: example.com"
				},
			},
			want:      workload.Observation{Reachable: true, Commit: commitA, Failure: workload.FailureUnreachable},
			wantKnown: true, wantChanges: 2, wantAgain: unsettledPeriod, wantLogReads: 1,
		},
		"log is read once a minute": {
			polls: []func(*fakePods){
				func(p *fakePods) { p.commit, p.counts, p.log = "", map[string]int{"error": 1}, "Authentication failed" },
				func(p *fakePods) { p.counts = map[string]int{"error": 2} },
				func(p *fakePods) { p.counts = map[string]int{"error": 3} },
			},
			want:      workload.Observation{Reachable: true, Failure: workload.FailureAuthentication},
			wantKnown: true, wantChanges: 1, wantAgain: unsettledPeriod, wantLogReads: 2,
		},
		"remote comes back": {
			polls: []func(*fakePods){
				func(p *fakePods) { p.commit, p.counts, p.log = commitA, map[string]int{"error": 1}, "x" },
				func(p *fakePods) { p.counts = map[string]int{"error": 1, "noop": 1} },
			},
			want:      workload.Observation{Reachable: true, Commit: commitA},
			wantKnown: true, wantChanges: 2, wantAgain: time.Minute, wantLogReads: 1,
		},
		"first look shows both": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts = commitA, map[string]int{"error": 3, "noop": 9} }},
			want:  workload.Observation{Reachable: true, Commit: commitA, FollowingUnknown: true}, wantKnown: true, wantChanges: 1, wantAgain: time.Minute,
		},
		"slow first fetch is no failure": {
			polls: []func(*fakePods){func(p *fakePods) { p.log = "cloning" }, nil},
			want:  workload.Observation{Reachable: true, FollowingUnknown: true}, wantKnown: true, wantChanges: 1, wantAgain: unsettledPeriod, wantLogReads: 1,
		},
		"fetched after all, and git-sync does not say so": {
			polls: []func(*fakePods){
				func(p *fakePods) { p.noMetrics, p.log = true, "connection timed out" },
				nil,
				func(p *fakePods) { p.commit = commitA },
			},
			want:      workload.Observation{Reachable: true, Commit: commitA, FollowingUnknown: true, SyncUnreachable: true},
			wantKnown: true, wantChanges: 3, wantAgain: time.Minute, wantLogReads: 1,
		},
		"git-sync lost one poll": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts = commitA, good }, func(p *fakePods) { p.noMetrics = true }},
			want:  workload.Observation{Reachable: true, Commit: commitA}, wantKnown: true, wantChanges: 1, wantAgain: unsettledPeriod,
		},
		"git-sync is never reached": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.noMetrics = commitA, true }, nil},
			want:  workload.Observation{Reachable: true, Commit: commitA, FollowingUnknown: true, SyncUnreachable: true}, wantKnown: true, wantChanges: 2,
			// It takes a worker's time to find out, and the site is served.
			wantAgain: time.Minute,
		},
		"git-sync restarted": {
			polls: []func(*fakePods){
				func(p *fakePods) { p.commit, p.counts = commitA, map[string]int{"success": 5, "error": 7} },
				func(p *fakePods) { p.counts = map[string]int{"success": 1} },
			},
			want: workload.Observation{Reachable: true, Commit: commitA}, wantKnown: true, wantChanges: 2, wantAgain: time.Minute,
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
			got, known := f.Observation("uid-of-a")
			if known != test.wantKnown || known && got != test.want {
				t.Errorf("Observation() = %+v, %t, want %+v, %t", got, known, test.want, test.wantKnown)
			}
			if got := f.changed(t); got != test.wantChanges {
				t.Errorf("%d changes were reported, want %d", got, test.wantChanges)
			}
			if again != test.wantAgain {
				t.Errorf("asked again after %v, want %v", again, test.wantAgain)
			}
			if f.pods.logReads != test.wantLogReads {
				t.Errorf("the log was read %d times, want %d", f.pods.logReads, test.wantLogReads)
			}
		})
	}
}

func TestSiblingsAreProbedWhenACommitArrives(t *testing.T) {
	f := newFixture(&fakePods{commit: commitA, counts: map[string]int{"success": 1}})
	f.Probe(cache.NewObjectName("default", "other"), newPod("c"))
	_, ctx := ktesting.NewTestContext(t)
	for f.queue.Len() > 0 {
		f.next(ctx)
	}
	f.pods.commit = commitB
	f.poll(t)
	if n := f.queue.Len(); n != 1 {
		t.Fatalf("%d pods are to be probed, want the sibling", n)
	}
	f.next(ctx)
	if got, _ := f.Observation("uid-of-b"); got.Commit != commitB {
		t.Errorf("the sibling is known to serve %q, want %q", got.Commit, commitB)
	}
}

func TestRun(t *testing.T) {
	f := newFixture(&fakePods{commit: commitA, counts: map[string]int{"success": 1}})
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx, 2)
	}()
	for range 2 {
		<-f.Changes()
	}
	for _, uid := range []types.UID{"uid-of-a", "uid-of-b"} {
		if _, known := f.Observation(uid); !known {
			t.Errorf("nothing is known of %s", uid)
		}
	}
	cancel()
	<-done
}

// TestForgottenPodsAreNotProbed: a pod that belongs to no Website any more gets no
// requests, and what it said is dropped.
func TestForgottenPodsAreNotProbed(t *testing.T) {
	f := newFixture(&fakePods{commit: commitA, counts: map[string]int{"success": 1}})
	_, ctx := ktesting.NewTestContext(t)
	// polls returns how often pods were probed.
	polls := func() int {
		before := f.pods.polls
		for f.queue.Len() > 0 {
			f.next(ctx)
		}
		return f.pods.polls - before
	}
	f.Forget("uid-of-b")
	if n := polls(); n == 0 {
		t.Fatal("a pod was not probed")
	}
	if _, known := f.Observation("uid-of-a"); !known {
		t.Fatal("what a pod said is not known")
	}
	f.Probe(testWebsite, newPod("a"))
	f.Forget("uid-of-a")
	n := polls()
	if _, known := f.Observation("uid-of-a"); known || n != 0 {
		t.Errorf("a forgotten pod was probed %d times, known: %t", n, known)
	}
	f.Probe(testWebsite, newPod("a"))
	n = polls()
	if _, known := f.Observation("uid-of-a"); !known || n == 0 {
		t.Errorf("one that is back was probed %d times, known: %t", n, known)
	}
}

// TestFailureIsKnownWhole: whoever asks while the log is read must not be told that
// nobody knows why fetching fails, nor that it works.
func TestFailureIsKnownWhole(t *testing.T) {
	f := newFixture(&fakePods{commit: commitA, counts: map[string]int{"error": 1}, log: "Authentication failed"})
	reads := 0
	f.pods.reading = func() {
		reads++
		if got, _ := f.Observation("uid-of-a"); got.Failure != workload.FailureNone || !got.FollowingUnknown {
			t.Errorf("before the log has been read it is said: %+v", got)
		}
	}
	f.poll(t)
	if got, _ := f.Observation("uid-of-a"); reads != 1 || got.Failure != workload.FailureAuthentication || got.FollowingUnknown {
		t.Errorf("after %d reads it is said: %+v", reads, got)
	}
}

// TestBackoff: pods that do not answer take a worker's time, so they are asked
// less and less often, and as often as ever once they answer.
func TestBackoff(t *testing.T) {
	f := newFixture(&fakePods{err: errors.New("no route to host")})
	var waits []time.Duration
	for range 8 {
		waits = append(waits, f.poll(t))
	}
	want := []time.Duration{5 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 4 * time.Minute}
	if !slices.Equal(waits, want) {
		t.Errorf("asked again after %v, want %v", waits, want)
	}
	f.pods.err, f.pods.commit, f.pods.counts = nil, commitA, map[string]int{"success": 1}
	if again := f.poll(t); again != time.Minute {
		t.Errorf("a pod that answers again is asked after %v, want %v", again, time.Minute)
	}
}
