package podprobe

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

const (
	// agentHold is the time for which agents hold releases.
	agentHold = 3 * time.Second
	// pollPeriod is the polling interval of the agents, and fetchTime the duration of a fetch.
	pollPeriod, fetchTime = 10 * time.Second, 100 * time.Millisecond
)

// pushedRepository is followed by agents that hold releases. Times are relative to the synctest
// bubble.
type pushedRepository struct {
	agents map[string]*holdingAgent

	mu   sync.Mutex
	head string
	// unfit are commits that an agent served before another had prepared them, and late is the
	// longest time for which an agent served another commit than the fetched one.
	unfit []string
	late  time.Duration
}

// holdingAgent holds releases as agents do. The lock of the repository guards it.
type holdingAgent struct {
	repository *pushedRepository
	name       string
	served     string
	prepared   string
	// had are all commits that it has prepared.
	had map[string]bool
	// revision counts the changes; moved is the revision of the last change of the held or served
	// commit.
	revision, moved int
	changed         chan struct{}
	nextPoll        time.Time
	heldSince       time.Time
	// wanted triggers a fetch.
	wanted chan struct{}
}

func commitOf(i int) string { return fmt.Sprintf("%040x", i) }

func (r *pushedRepository) push(i int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.head = commitOf(i)
}

// set changes the held and the served commit of an agent.
func (a *holdingAgent) set(served, prepared string) {
	now := time.Now()
	if served != a.served {
		for _, other := range a.repository.agents {
			if !other.had[served] {
				a.repository.unfit = append(a.repository.unfit,
					fmt.Sprintf("%s serves %.40s, which %s lacks", a.name, served, other.name))
			}
		}
	}
	if prepared == "" {
		a.heldSince = time.Time{}
	} else if a.had[prepared] = true; a.heldSince.IsZero() {
		a.heldSince = now
	}
	a.served, a.prepared = served, prepared
	a.revision++
	a.moved = a.revision
	close(a.changed)
	a.changed = make(chan struct{})
}

// run polls the repository periodically, and whenever a commit of another agent is expected.
func (a *holdingAgent) run(ctx context.Context) {
	r := a.repository
	for ctx.Err() == nil {
		r.mu.Lock()
		wait := time.Until(a.nextPoll)
		r.mu.Unlock()
		select {
		case <-time.After(wait):
		case <-a.wanted:
		case <-ctx.Done():
			return
		}
		r.mu.Lock()
		fetched := r.head
		a.nextPoll = time.Now()
		r.mu.Unlock()
		time.Sleep(fetchTime)
		r.mu.Lock()
		a.nextPoll = time.Now().Add(pollPeriod)
		switch {
		case fetched == a.served && a.prepared != "":
			a.set(a.served, "")
		case fetched != a.served && fetched != a.prepared:
			a.set(a.served, fetched)
			since := a.heldSince
			time.AfterFunc(agentHold-time.Since(since), func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				if a.heldSince.Equal(since) {
					a.serve()
				}
			})
		}
		r.mu.Unlock()
	}
}

// serve serves the held commit.
func (a *holdingAgent) serve() {
	a.repository.late = max(a.repository.late, time.Since(a.heldSince))
	a.set(a.prepared, "")
}

// Get answers as the agent of a pod.
func (r *pushedRepository) Get(ctx context.Context, pod *cached.Pod, request Request) (int, []byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, query := r.agents[pod.Name], request.Query
	expected, released := query.Get(requests.ParameterExpect), query.Get(requests.ParameterRelease)
	if expected != "" && a.prepared != expected && a.served != expected {
		select {
		case a.wanted <- struct{}{}:
		default:
		}
	}
	if released != "" && a.prepared == released {
		a.serve()
	}
	var since int
	_, _ = fmt.Sscan(query.Get(requests.ParameterAfter), &since)
	waitForNews(ctx, &r.mu, request.Wait, &a.changed, func() bool {
		return expected != "" && (a.prepared == expected || a.served == expected || a.moved > since) ||
			released != "" && a.prepared != released || expected == "" && released == "" && a.revision != since
	})
	if ctx.Err() != nil {
		return 0, nil, ctx.Err()
	}
	status, next := statusOf(a.served), time.Until(a.nextPoll).Milliseconds()
	status.Prepared, status.Revision, status.NextSyncMilliseconds = a.prepared, fmt.Sprint(a.revision), &next
	body, err := json.Marshal(status)
	return http.StatusOK, body, err
}

// TestPushesBetweenFetches: for any timing of pushes between the fetches of three pods, which poll
// one after the other, no pod serves a commit before the others have prepared it, and a commit, or a
// later one, is served within the time of a hold.
func TestPushesBetweenFetches(t *testing.T) {
	for name, test := range map[string]struct {
		// apart is the time between the polls of two pods, interval the time between pushes, and
		// pushes their number.
		apart, interval time.Duration
		pushes          int
	}{
		"one after the first fetch":       {50 * time.Millisecond, 30 * time.Millisecond, 2},
		"one after each fetch":            {50 * time.Millisecond, 45 * time.Millisecond, 3},
		"one while pods fetch again":      {50 * time.Millisecond, 120 * time.Millisecond, 2},
		"one after the last fetch":        {0, 30 * time.Millisecond, 2},
		"each 10 s":                       {41 * time.Millisecond, 10*time.Second + 37*time.Millisecond, 30},
		"each second, polled at once":     {0, 1037 * time.Millisecond, 300},
		"each second, polled apart":       {41 * time.Millisecond, 1037 * time.Millisecond, 300},
		"each second, polled a few apart": {3300 * time.Millisecond, 1037 * time.Millisecond, 300},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &pushedRepository{agents: map[string]*holdingAgent{}}
				r.push(1)
				names := []string{"a", "b", "c"}
				for i, name := range names {
					r.agents[name] = &holdingAgent{
						repository: r, name: name, served: commitOf(1), had: map[string]bool{commitOf(1): true},
						changed:  make(chan struct{}),
						nextPoll: time.Now().Add(pollPeriod + time.Duration(i)*test.apart), wanted: make(chan struct{}, 1),
					}
				}
				p := New(Config{Client: r, Period: testPeriod, Clock: clock.RealClock{}, Workers: 40, Share: 10})
				start(t, p)
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				defer running.Wait()
				defer cancel()
				for _, name := range names {
					pod := newPod(name)
					pod.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
					p.Probe(testWebsite, pod)
					running.Go(func() { r.agents[name].run(ctx) })
				}
				time.Sleep(pollPeriod - 10*time.Millisecond)
				last := 1
				for range test.pushes {
					last++
					r.push(last)
					time.Sleep(test.interval)
				}
				time.Sleep(time.Minute)
				r.mu.Lock()
				defer r.mu.Unlock()
				t.Logf("%d pushes, each held by a pod for %v at most", test.pushes, r.late)
				if len(r.unfit) > 0 {
					t.Errorf("%d times pods served a commit that others lacked, the first: %s", len(r.unfit), r.unfit[0])
				}
				if r.late > agentHold {
					t.Errorf("a pod held commits for %v, want %v at most", r.late, agentHold)
				}
				for _, a := range r.agents {
					if a.served != commitOf(last) {
						t.Errorf("in the end pod %s serves %s, want the last commit %s", a.name, a.served, commitOf(last))
					}
				}
			})
		})
	}
}
