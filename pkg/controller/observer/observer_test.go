package observer

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
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"
	testingclock "k8s.io/utils/clock/testing"
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

// fixture is an observer of the pods "a" and "b", which answer alike.
type fixture struct {
	*Observer
	pods    *fakePods
	clock   *testingclock.FakeClock
	changed map[string]int
	mu      sync.Mutex
	// unwanted are pods of nobody.
	unwanted map[string]bool
}

func newFixture(pods *fakePods) *fixture {
	f := &fixture{pods: pods, clock: testingclock.NewFakeClock(time.Unix(1e9, 0)), changed: map[string]int{}}
	all := []*corev1.Pod{newPod("a"), newPod("b")}
	f.Observer = New(Config{
		Pods: pods,
		Lookup: func(key cache.ObjectName) (*corev1.Pod, error) {
			for _, pod := range all {
				if pod.Name == key.Name {
					return pod, nil
				}
			}
			return nil, errors.New("not found")
		},
		Wanted:   func(pod *corev1.Pod) bool { return !f.unwanted[pod.Name] },
		Siblings: func(*corev1.Pod) []*corev1.Pod { return all },
		Changed: func(pod *corev1.Pod) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.changed[pod.Name]++
		},
		Period: time.Minute, AdminPort: 8081, SyncMetricsPort: 8082, Clock: f.clock,
	})
	return f
}

func (f *fixture) poll(t *testing.T) time.Duration {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	return f.observe(ctx, newPod("a"))
}

func TestObserve(t *testing.T) {
	good := map[string]int{"success": 1}
	for name, test := range map[string]struct {
		// polls change the pod before each poll; 30 seconds are between them.
		polls []func(p *fakePods)
		want  Observation
		// wantKnown is false when there is nothing to say.
		wantKnown    bool
		wantChanges  int
		wantAgain    time.Duration
		wantLogReads int
	}{
		"served": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts = commitA, good }},
			want:  Observation{Reachable: true, Commit: commitA}, wantKnown: true, wantChanges: 1, wantAgain: time.Minute,
		},
		"the same again is no news": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts = commitA, good }, nil, nil},
			want:  Observation{Reachable: true, Commit: commitA}, wantKnown: true, wantChanges: 1, wantAgain: time.Minute,
		},
		"another commit": {
			polls: []func(*fakePods){
				func(p *fakePods) { p.commit, p.counts = commitA, good },
				func(p *fakePods) { p.commit, p.counts = commitB, map[string]int{"success": 2} },
			},
			want: Observation{Reachable: true, Commit: commitB}, wantKnown: true, wantChanges: 2, wantAgain: time.Minute,
		},
		"path not found": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts, p.startup = commitA, good, "path not found" }},
			want:  Observation{Reachable: true, Commit: commitA, PathNotFound: true}, wantKnown: true, wantChanges: 1, wantAgain: unsettledPeriod,
		},
		"one poll lost": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts = commitA, good }, func(p *fakePods) { p.err = errors.New("lost") }},
			want:  Observation{Reachable: true, Commit: commitA}, wantKnown: true, wantChanges: 1, wantAgain: time.Minute,
		},
		"unreachable keeps what was known": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts = commitA, good }, func(p *fakePods) { p.err = errors.New("lost") }, nil},
			want:  Observation{Commit: commitA}, wantKnown: true, wantChanges: 2, wantAgain: unsettledPeriod,
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
			want:      Observation{Reachable: true, Commit: commitA, Failure: FailureUnreachable},
			wantKnown: true, wantChanges: 2, wantAgain: unsettledPeriod, wantLogReads: 1,
		},
		"log is read once a minute": {
			polls: []func(*fakePods){
				func(p *fakePods) { p.commit, p.counts, p.log = "", map[string]int{"error": 1}, "Authentication failed" },
				func(p *fakePods) { p.counts = map[string]int{"error": 2} },
				func(p *fakePods) { p.counts = map[string]int{"error": 3} },
			},
			want:      Observation{Reachable: true, Failure: FailureAuthentication},
			wantKnown: true, wantChanges: 1, wantAgain: unsettledPeriod, wantLogReads: 2,
		},
		"remote comes back": {
			polls: []func(*fakePods){
				func(p *fakePods) { p.commit, p.counts, p.log = commitA, map[string]int{"error": 1}, "x" },
				func(p *fakePods) { p.counts = map[string]int{"error": 1, "noop": 1} },
			},
			want:      Observation{Reachable: true, Commit: commitA},
			wantKnown: true, wantChanges: 2, wantAgain: time.Minute, wantLogReads: 1,
		},
		"first look shows both": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts = commitA, map[string]int{"error": 3, "noop": 9} }},
			want:  Observation{Reachable: true, Commit: commitA, FollowingUnknown: true}, wantKnown: true, wantChanges: 1, wantAgain: time.Minute,
		},
		"slow first fetch is no failure": {
			polls: []func(*fakePods){func(p *fakePods) { p.log = "cloning" }, nil},
			want:  Observation{Reachable: true, FollowingUnknown: true}, wantKnown: true, wantChanges: 1, wantAgain: unsettledPeriod, wantLogReads: 1,
		},
		"fetched after all, and git-sync does not say so": {
			polls: []func(*fakePods){
				func(p *fakePods) { p.noMetrics, p.log = true, "connection timed out" },
				nil,
				func(p *fakePods) { p.commit = commitA },
			},
			want:      Observation{Reachable: true, Commit: commitA, FollowingUnknown: true, SyncUnreachable: true},
			wantKnown: true, wantChanges: 3, wantAgain: time.Minute, wantLogReads: 1,
		},
		"git-sync lost one poll": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.counts = commitA, good }, func(p *fakePods) { p.noMetrics = true }},
			want:  Observation{Reachable: true, Commit: commitA}, wantKnown: true, wantChanges: 1, wantAgain: unsettledPeriod,
		},
		"git-sync is never reached": {
			polls: []func(*fakePods){func(p *fakePods) { p.commit, p.noMetrics = commitA, true }, nil},
			want:  Observation{Reachable: true, Commit: commitA, FollowingUnknown: true, SyncUnreachable: true}, wantKnown: true, wantChanges: 2,
			// It takes a worker's time to find out, and the site is served.
			wantAgain: time.Minute,
		},
		"git-sync restarted": {
			polls: []func(*fakePods){
				func(p *fakePods) { p.commit, p.counts = commitA, map[string]int{"success": 5, "error": 7} },
				func(p *fakePods) { p.counts = map[string]int{"success": 1} },
			},
			want: Observation{Reachable: true, Commit: commitA}, wantKnown: true, wantChanges: 2, wantAgain: time.Minute,
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
			got, known := f.Of("uid-of-a")
			if known != test.wantKnown || known && got != test.want {
				t.Errorf("Of() = %+v, %t, want %+v, %t", got, known, test.want, test.wantKnown)
			}
			if got := f.changed["a"]; got != test.wantChanges {
				t.Errorf("%d changes were told, want %d", got, test.wantChanges)
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

func TestRunPollsSiblingsWhenACommitArrives(t *testing.T) {
	f := newFixture(&fakePods{commit: commitA, counts: map[string]int{"success": 1}})
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx, 2)
	}()
	f.Poll(newPod("a"))
	f.Poll(newPod("gone"))
	err := wait.PollUntilContextTimeout(ctx, 5*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		_, a := f.Of("uid-of-a")
		_, b := f.Of("uid-of-b")
		return a && b, nil
	})
	if err != nil {
		t.Errorf("what one pod serves was not asked of the other: %v", err)
	}
	cancel()
	<-done
	f.Forget("uid-of-a")
	if _, known := f.Of("uid-of-a"); known {
		t.Error("a forgotten pod is remembered")
	}
}

func TestPodsThatCannotAnswerAreNotAsked(t *testing.T) {
	for name, tweak := range map[string]func(*corev1.Pod){
		"no address": func(p *corev1.Pod) { p.Status.PodIP = "" },
		"pending":    func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending },
		"ended":      func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"deleted":    func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
	} {
		pod := newPod("a")
		tweak(pod)
		if CanAnswer(pod) {
			t.Errorf("%s: would be asked", name)
		}
	}
	if !CanAnswer(newPod("a")) {
		t.Error("a running pod would not be asked")
	}
}

// TestUnwantedPodsAreNotAsked: whoever may create pods can label them as ours.
func TestUnwantedPodsAreNotAsked(t *testing.T) {
	f := newFixture(&fakePods{commit: commitA, counts: map[string]int{"success": 1}})
	_, ctx := ktesting.NewTestContext(t)
	// polls returns how often pods were asked because something changed in this one.
	polls := func() int {
		before := f.pods.polls
		f.Poll(newPod("a"))
		for f.queue.Len() > 0 {
			f.next(ctx)
		}
		return f.pods.polls - before
	}
	if n := polls(); n == 0 {
		t.Fatal("a wanted pod was not asked")
	}
	if _, known := f.Of("uid-of-a"); !known {
		t.Fatal("what a wanted pod said is not known")
	}
	f.unwanted = map[string]bool{"a": true}
	n := polls()
	if _, known := f.Of("uid-of-a"); known || n != 0 {
		t.Errorf("one that is no longer wanted was asked %d times, known: %t", n, known)
	}
	f.unwanted = nil
	n = polls()
	if _, known := f.Of("uid-of-a"); !known || n == 0 {
		t.Errorf("one that is wanted again was asked %d times, known: %t", n, known)
	}
}

// TestFailureIsKnownWhole: whoever asks while the log is read must not be told that
// nobody knows why fetching fails, nor that it works.
func TestFailureIsKnownWhole(t *testing.T) {
	f := newFixture(&fakePods{commit: commitA, counts: map[string]int{"error": 1}, log: "Authentication failed"})
	reads := 0
	f.pods.reading = func() {
		reads++
		if got, _ := f.Of("uid-of-a"); got.Failure != FailureNone || !got.FollowingUnknown {
			t.Errorf("before the log has been read it is said: %+v", got)
		}
	}
	f.poll(t)
	if got, _ := f.Of("uid-of-a"); reads != 1 || got.Failure != FailureAuthentication || got.FollowingUnknown {
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
