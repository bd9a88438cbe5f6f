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
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent"
	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/agent/release"
	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// latency is the duration of a request to a pod.
const latency = 2 * time.Millisecond

// deployedPods are agents that fetch only on request. Times are relative to the synctest bubble.
type deployedPods struct {
	mu   sync.Mutex
	head string
	// fetch is the duration of a fetch by pod, and broken the set of pods that do not respond.
	fetch  map[string]time.Duration
	broken map[string]bool
	// old is the set of pods whose agents do not support such requests.
	old    map[string]bool
	agents map[string]*deployedAgent
	// unfit are commits that an agent served before another had prepared them.
	unfit []string
}

// deployedAgent is an agent of deployedPods. The lock of the pods guards it.
type deployedAgent struct {
	name string
	agent.Status
	disk    map[string]bool
	fetches int
	asked   int
	syncing string
	changed chan struct{}
	number  int
}

func (d *deployedPods) change(a *deployedAgent, change func()) {
	change()
	a.number++
	a.Revision = fmt.Sprint(a.number)
	close(a.changed)
	a.changed = make(chan struct{})
}

// counts returns the numbers of requests and of fetches of an agent.
func (d *deployedPods) counts(name string) (asked, fetches int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.agents[name].asked, d.agents[name].fetches
}

// wantFit fails the test if an agent has served a commit before another had prepared it.
func (d *deployedPods) wantFit(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.unfit) > 0 {
		t.Error(d.unfit[0])
	}
}

// serve serves a commit, or holds it.
func (d *deployedPods) serve(a *deployedAgent, commit string, hold bool) {
	if hold && commit != a.Commit {
		d.change(a, func() { a.Prepared = commit })
		return
	}
	for name, other := range d.agents {
		if !other.disk[commit] && !d.broken[name] {
			d.unfit = append(d.unfit, fmt.Sprintf("%s serves %.8s, which %s lacks", a.name, commit, name))
		}
	}
	d.change(a, func() { a.Commit, a.Prepared = commit, "" })
}

func (d *deployedPods) Get(ctx context.Context, pod *cached.Pod, request Request) (int, []byte, error) {
	if time.Sleep(latency); ctx.Err() != nil {
		return 0, nil, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	a, query := d.agents[pod.Name], request.Query
	a.asked++
	if d.broken[a.name] {
		return 0, nil, errors.New("connection refused")
	}
	hold := query.Has(requests.ParameterHold)
	id, released := query.Get(requests.ParameterSync), query.Get(requests.ParameterRelease)
	if id != "" && id != a.syncing && id != a.Synced {
		a.syncing = id
		a.fetches++
		time.AfterFunc(d.fetch[a.name], func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			a.Newest = d.head
			a.disk[d.head] = true
			if a.Pin == nil || a.Pin.Commit == "" {
				d.serve(a, d.head, hold)
			}
			if a.Prepared == "" {
				d.change(a, func() { a.Synced, a.syncing = a.syncing, "" })
			}
		})
	}
	if expected := query.Get(requests.ParameterExpect); expected != "" && expected != a.Commit && expected != a.Prepared {
		a.fetches++
	}
	if query.Has(requests.ParameterPin) && !d.old[a.name] {
		pin := agent.PinStatus{Commit: query.Get(requests.ParameterPin)}
		if _, err := fmt.Sscan(query.Get(requests.ParameterGeneration), &pin.Generation); err != nil {
			return http.StatusBadRequest, nil, nil
		}
		if a.Pin == nil || pin.Generation >= a.Pin.Generation {
			d.change(a, func() { a.Pin = &pin })
			if commit := pin.Commit; commit == "" {
				d.serve(a, a.Newest, hold)
			} else if a.disk[commit] {
				d.serve(a, commit, hold)
			} else {
				d.change(a, func() { a.Failure = &agent.Failure{Reason: git.ReasonCommitRefused, Count: 1} })
			}
		}
	}
	if released != "" && a.Prepared == released {
		d.serve(a, released, false)
		if a.syncing != "" {
			// Like an agent, it serves the held release a little later.
			time.AfterFunc(time.Millisecond, func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.change(a, func() { a.Synced, a.syncing = a.syncing, "" })
			})
		}
	}
	waitForNews(ctx, &d.mu, request.Wait, &a.changed, func() bool {
		return released != "" || id != "" && (a.Synced == id || a.Prepared != "") || query.Has(requests.ParameterPin) ||
			id == "" && a.Revision != query.Get(requests.ParameterAfter)
	})
	if ctx.Err() != nil {
		return 0, nil, ctx.Err()
	}
	body, err := json.Marshal(a.Status)
	return http.StatusOK, body, err
}

// newDeployed starts a prober of three pods that serve a commit, and can serve another one.
func newDeployed(t *testing.T) (*deployedPods, *Prober, []*cached.Pod) {
	d := &deployedPods{head: commitOf(1), fetch: map[string]time.Duration{}, broken: map[string]bool{},
		old: map[string]bool{}, agents: map[string]*deployedAgent{}}
	var pods []*cached.Pod
	for _, name := range []string{"a", "b", "c"} {
		a := &deployedAgent{
			name: name, Status: statusOf(commitOf(1)), changed: make(chan struct{}),
			disk: map[string]bool{commitOf(0): true, commitOf(1): true},
		}
		a.Revision, a.Newest = "0", commitOf(1)
		next := time.Hour.Milliseconds()
		a.NextSyncMilliseconds = &next
		d.agents[name], d.fetch[name] = a, fetchTime
		pod := newPod(name)
		pod.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		pods = append(pods, pod)
	}
	p := New(Config{Client: d, Period: testPeriod, Clock: clock.RealClock{}, Workers: 4, Share: 2})
	start(t, p)
	p.Want(testWebsite, &Wanted{UID: "1", Generation: 1})
	for _, pod := range pods {
		p.Probe(testWebsite, pod)
	}
	time.Sleep(time.Second)
	return d, p, pods
}

// observations returns the observations of pods.
func observations(p *Prober, pods []*cached.Pod) []workload.Observation {
	var all []workload.Observation
	for _, pod := range pods {
		seen, _ := p.Observation(pod.UID)
		all = append(all, seen)
	}
	return all
}

// TestSync: pods that are requested to sync fetch once and immediately, however often Want is called,
// switch together, and are known to have synced only when they serve the fetched commit.
func TestSync(t *testing.T) {
	for name, test := range map[string]struct {
		push    bool
		slow    time.Duration
		within  time.Duration
		answers int
	}{
		"nothing new":               {false, fetchTime, fetchTime + 20*time.Millisecond, 3},
		"something new":             {true, fetchTime, fetchTime + 20*time.Millisecond, 3},
		"a pod that fetches longer": {true, 2 * time.Second, 2*time.Second + 20*time.Millisecond, 3},
		"one not held for":          {true, 9 * time.Second, 9*time.Second + 20*time.Millisecond, 3},
		"one for a minute":          {false, time.Minute, fetchTime + 20*time.Millisecond, 2},
		"one for a minute, in time": {false, time.Minute, time.Minute + 20*time.Millisecond, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, p, pods := newDeployed(t)
				want := commitOf(1)
				d.mu.Lock()
				d.fetch["b"] = test.slow
				if test.push {
					d.head, want = commitOf(2), commitOf(2)
				}
				d.mu.Unlock()
				begun := time.Now()
				if first := p.FirstSeen(testWebsite, commitOf(1)); !first.IsZero() {
					t.Errorf("the initial commit of pods has a time of first observation: %v", first)
				}
				asked, _ := d.counts("b")
				wanted := Wanted{UID: "1", Generation: 1, Sync: "x"}
				for time.Since(begun) < test.within {
					p.Want(testWebsite, &wanted)
					p.Probe(testWebsite, pods[1])
					time.Sleep(time.Millisecond)
					for _, seen := range observations(p, pods) {
						if seen.Synced == "x" && seen.Commit != want {
							t.Fatalf("a pod that serves %s counts as one that has answered", seen.Commit)
						}
					}
				}
				answered := slices.DeleteFunc(observations(p, pods), func(seen workload.Observation) bool {
					return seen.Synced != "x" ||
						seen.Commit != want
				})
				if len(answered) != test.answers {
					t.Errorf("%d pods have answered after %v, want %d: %+v", len(answered), time.Since(begun), test.answers,
						observations(p, pods))
				}
				if first := p.FirstSeen(testWebsite, commitOf(2)); test.push &&
					(first.Before(begun) || first.Sub(begun) > 2*fetchTime) {
					t.Errorf("the commit was first seen %v after the push", first.Sub(begun))
				}
				// These are the request, one after each maximum wait, the end of a hold, and one more
				// if it coincides with the end of a wait.
				d.mu.Lock()
				if asked = d.agents["b"].asked - asked; asked > 6 {
					t.Errorf("a pod was asked %d times in %v", asked, test.within)
				}
				d.mu.Unlock()
				time.Sleep(2 * time.Minute)
				d.mu.Lock()
				defer d.mu.Unlock()
				for _, a := range d.agents {
					if a.fetches != 1 {
						t.Errorf("pod %s has fetched %d times", a.name, a.fetches)
					}
				}
				if test.slow < defaultMaxHold && len(d.unfit) > 0 {
					t.Error(d.unfit[0])
				}
			})
		})
	}
}

// TestPin: the pods of a Website serve the pinned commit immediately and together, and the newest one
// again without a pin.
func TestPin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, p, pods := newDeployed(t)
		for generation, pin := range []string{commitOf(0), "", commitOf(0), commitOf(1), ""} {
			want := pin
			if want == "" {
				want = commitOf(1)
			}
			p.Want(testWebsite, &Wanted{UID: "1", Generation: int64(generation) + 2, Pin: pin})
			time.Sleep(20 * time.Millisecond)
			for _, seen := range observations(p, pods) {
				if seen.Commit != want || seen.Pin != pin {
					t.Errorf("generation %d: a pod serves %s and is pinned to %q, want %s", generation, seen.Commit, seen.Pin, want)
				}
			}
		}
		// A Want of an earlier generation has no effect.
		before, _ := d.counts("a")
		p.Want(testWebsite, &Wanted{UID: "1", Generation: 2, Pin: commitOf(0)})
		time.Sleep(time.Minute)
		if asked, _ := d.counts("a"); asked-before > 2 {
			t.Errorf("a pod was asked %d times for an earlier generation", asked-before)
		}
		for _, seen := range observations(p, pods) {
			if seen.Pin != "" {
				t.Error("an earlier generation has pinned a pod")
			}
		}
		// Another Website of the same name starts with its own state.
		p.Want(testWebsite, &Wanted{UID: "2", Generation: 1, Sync: "y"})
		time.Sleep(time.Second)
		if seen := observations(p, pods)[0]; seen.Synced != "y" {
			t.Errorf("a pod of another Website was not requested to sync")
		}
		p.Want(testWebsite, nil)
		p.Want(testWebsite, &Wanted{UID: "3", Generation: 9, Pin: commitOf(0)})
		time.Sleep(time.Second)
		if seen := observations(p, pods)[0]; seen.Commit != commitOf(0) {
			t.Errorf("a pod of another Website serves %s", seen.Commit)
		}
		d.wantFit(t)
	})
}

// TestPinIsLevelTriggered: a pod that is new, was unreachable, or has lost the commit is requested
// again; a pod that cannot fetch it is not, over and over.
func TestPinIsLevelTriggered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, p, pods := newDeployed(t)
		d.mu.Lock()
		d.broken["b"] = true
		d.mu.Unlock()
		p.Want(testWebsite, &Wanted{UID: "1", Generation: 2, Pin: commitOf(0)})
		time.Sleep(10 * time.Second)
		d.mu.Lock()
		d.broken["b"], d.old["c"] = false, true
		asked := d.agents["c"].asked
		d.agents["c"].Pin = nil
		d.mu.Unlock()
		p.Probe(testWebsite, pods[2])
		time.Sleep(time.Minute)
		if seen := observations(p, pods)[1]; seen.Commit != commitOf(0) {
			t.Errorf("the pod that was unreachable serves %s", seen.Commit)
		}
		d.mu.Lock()
		if asked = d.agents["c"].asked - asked; asked < 2 || asked > 10 {
			t.Errorf("an agent of an earlier version was asked %d times in a minute", asked)
		}
		d.old["c"] = false
		d.change(d.agents["c"], func() { d.agents["c"].Commit, d.agents["c"].Pin = commitOf(1), nil })
		d.mu.Unlock()
		p.Probe(testWebsite, pods[2])
		time.Sleep(maxRetryDeploy + time.Second)
		if seen := observations(p, pods)[2]; seen.Commit != commitOf(0) {
			t.Errorf("the pod that has forgotten the commit serves %s", seen.Commit)
		}

		// The others do not fetch a commit that one pod has because it is pinned.
		d.mu.Lock()
		d.agents["a"].disk[commitOf(9)] = true
		d.mu.Unlock()
		before, _ := d.counts("b")
		p.Want(testWebsite, &Wanted{UID: "1", Generation: 3, Pin: commitOf(9)})
		time.Sleep(time.Minute)
		if asked, fetches := d.counts("b"); asked-before > 12 || fetches > 0 {
			t.Errorf("a pod that lacks the commit was asked %d times in a minute, and has fetched %d times",
				asked-before, fetches)
		}
		if seen := observations(p, pods)[0]; seen.Commit != commitOf(9) {
			t.Errorf("the pod that has the commit serves %s", seen.Commit)
		}
		if seen := observations(p, pods)[1]; seen.Failure != git.ReasonCommitRefused || seen.Commit != commitOf(0) {
			t.Errorf("the pod serves %s and fails with %q", seen.Commit, seen.Failure)
		}
	})
}

// TestSyncsOfOthers: slow fetches in one namespace do not delay pods of another.
func TestSyncsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, p, pods := newDeployed(t)
		for i := range 2 * shareDeploying {
			name := fmt.Sprintf("other%d", i)
			a := &deployedAgent{name: name, Status: statusOf(commitOf(1)), changed: make(chan struct{}),
				disk: map[string]bool{commitOf(1): true}}
			a.Revision = "0"
			d.mu.Lock()
			d.agents[name], d.fetch[name] = a, time.Hour
			d.mu.Unlock()
			pod := newPod(name)
			pod.Namespace, pod.UID = "other", types.UID(name)
			p.Probe(cache.NewObjectName("other", name), pod)
		}
		time.Sleep(time.Minute)
		for i := range 2 * shareDeploying {
			p.Want(cache.NewObjectName("other", fmt.Sprintf("other%d", i)), &Wanted{UID: "o", Generation: 1, Sync: "x"})
		}
		time.Sleep(time.Second)
		p.Want(testWebsite, &Wanted{UID: "1", Generation: 1, Sync: "x"})
		time.Sleep(2 * fetchTime)
		for _, seen := range observations(p, pods) {
			if seen.Synced != "x" {
				t.Error("a pod was not requested to sync while pods of another namespace fetched")
			}
		}
	})
}

// TestDescriptionOfCommit: only printable text of a commit message is kept.
func TestDescriptionOfCommit(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"plain":       {"Fix it", "Fix it"},
		"a terminal":  {"\x1b[31mFix\x00 it\n", "[31mFix it"},
		"not UTF-8":   {"Fix \xff it", "Fix \uFFFD it"},
		"long":        {strings.Repeat("ä", 150), strings.Repeat("ä", 100)},
		"uneven":      {"a" + strings.Repeat("ä", 150), "a" + strings.Repeat("ä", 99)},
		"other space": {"  a\u00a0b\u2028c ", "a b c"},
	} {
		if got := release.Printable(test.text, release.MaxSubject); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
