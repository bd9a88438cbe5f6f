package podprobe

import (
	"context"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
)

const (
	// maxWaiting limits the requests that wait for syncs, and shareWaiting those in one namespace.
	// Further pods are probed periodically.
	maxWaiting, shareWaiting = 512, 128
	// maxUrgent and shareUrgent limit requests about a new commit, which are short.
	maxUrgent, shareUrgent = 256, 128
	// defaultMaxHold is the time for which pods with a prepared release wait for the others. Agents
	// hold it a little longer.
	defaultMaxHold = 2500 * time.Millisecond
)

// deployment is what a request to sync or to serve a commit has.
type deployment struct {
	// sync is a request to sync, or empty. If pins is true, pin is the commit to serve, or empty,
	// from the spec of that generation.
	sync       string
	pins       bool
	pin        string
	generation int64
}

// ask has the parameters of a request to an agent.
type ask struct {
	// wait is the maximum wait for another revision than after.
	wait  time.Duration
	after string
	// hold is true if the pod has siblings, for which it should hold a release back.
	hold bool
	// expect is a commit of another pod, and release a commit that all pods have.
	expect, release string
	deployment
	// crowded is true if the request should have waited, but too many did.
	crowded bool
}

// isAbout reports whether a request is for a particular event, rather than for any change.
func (a ask) isAbout() bool { return a.expect != "" || a.release != "" || a.deploys() }

func (a ask) query() url.Values {
	query := url.Values{}
	for name, value := range map[string]string{requests.ParameterExpect: a.expect, requests.ParameterRelease: a.release} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if a.wait > 0 {
		query.Set(requests.ParameterWait, a.wait.String())
		query.Set(requests.ParameterAfter, a.after)
		if a.hold {
			query.Set(requests.ParameterHold, "true")
		}
	}
	if a.sync != "" {
		query.Set(requests.ParameterSync, a.sync)
	}
	if a.pins {
		query.Set(requests.ParameterPin, a.pin)
		query.Set(requests.ParameterGeneration, strconv.FormatInt(a.generation, 10))
	}
	return query
}

// canWait reports whether the agent of a pod supports waiting requests, and syncs.
func (s *state) canWait() bool { return s.revision != "" && !s.nextSync.IsZero() }

// plan returns the next request to a pod: it waits if a sync is due. The caller holds the lock.
func (p *Prober) plan(r *record) ask {
	if !r.canWait() || r.nextSync.Sub(p.Clock.Now()) > 2*syncMargin {
		return ask{}
	}
	return ask{wait: min(p.Period, maxWait), after: r.revision, hold: p.replicas(r.website) > 1}
}

// start sends a request that waits, and ends an earlier one to the same pod. It reports false if too
// many requests wait. The caller holds the lock.
func (p *Prober) start(ctx context.Context, r *record, a ask, limit *limiter) bool {
	namespace := r.pod.Namespace
	if !limit.take(namespace) {
		return false
	}
	turn, pod := p.supersede(r), r.pod
	r.waiting = &a
	requestCtx, cancel := context.WithCancel(ctx)
	r.cancel = cancel
	p.waiting.Go(func() {
		defer limit.give(namespace)
		defer cancel()
		begun := p.Clock.Now()
		got, err := p.request(requestCtx, pod, a)
		p.handleAnswer(ctx, pod, a, turn, begun, got, err)
	})
	return true
}

// supersede ends a waiting request, and returns the number of the next one: answers to earlier ones
// are dropped, so that a pod has one at a time. The caller holds the lock.
func (p *Prober) supersede(r *record) uint64 {
	if r.cancel != nil {
		r.cancel()
		r.cancel = nil
	}
	r.waiting = nil
	r.begun = p.Clock.Now()
	p.turns++
	r.turn = p.turns
	return r.turn
}

// limiter limits the requests that wait, in total and by namespace.
type limiter struct {
	max, share int

	mu     sync.Mutex
	all    int
	byName map[string]int
}

func newLimiter(most, share int) *limiter {
	return &limiter{max: most, share: share, byName: map[string]int{}}
}

func (l *limiter) take(namespace string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= l.max || l.byName[namespace] >= l.share {
		return false
	}
	l.all++
	l.byName[namespace]++
	return true
}

func (l *limiter) give(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.byName[namespace]--; l.byName[namespace] == 0 {
		delete(l.byName, namespace)
	}
}
