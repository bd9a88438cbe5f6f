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
	// maxWaiting is how many requests may wait for syncs at a time, and shareWaiting how
	// many of one namespace. Pods beyond that are probed periodically.
	maxWaiting, shareWaiting = 512, 128
	// maxUrgent and shareUrgent limit requests about a new commit, which are short.
	maxUrgent, shareUrgent = 256, 128
	// defaultMaxHold is how long pods that have prepared a release wait for the others.
	// Agents hold it a little longer.
	defaultMaxHold = 2500 * time.Millisecond
)

// ask is what a request asks of an agent.
type ask struct {
	// wait is how long to wait for something else than the revision after.
	wait  time.Duration
	after string
	// hold is true if the pod has siblings to hold a release back for.
	hold bool
	// expect is a commit of another pod, and release one that all have.
	expect, release string
	// sync is a request to sync, or nothing. If pins is true, pin is the commit to serve, or
	// nothing, of a spec of that generation.
	sync       string
	pins       bool
	pin        string
	generation int64
	// crowded is true if the request was to wait, and too many did.
	crowded bool
}

// isAbout reports whether a request is for something certain, and not for whatever is new.
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

// canWait reports whether the agent of a pod answers requests that wait, and syncs.
func (s *state) canWait() bool { return s.revision != "" && !s.nextSync.IsZero() }

// plan returns what to ask a pod now: to wait if a sync is due. The caller holds the lock.
func (p *Prober) plan(r *record) ask {
	if !r.canWait() || r.nextSync.Sub(p.Clock.Now()) > 2*syncMargin {
		return ask{}
	}
	return ask{wait: min(p.Period, maxWait), after: r.revision, hold: p.replicas(r.website) > 1}
}

// start makes a request that waits, and ends an earlier one to that pod. It reports false
// if too many wait. The caller holds the lock.
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
		p.learn(ctx, pod, a, turn, begun, got, err)
	})
	return true
}

// supersede ends a request that waits, and returns the number of the next one: an answer to
// any other is dropped, so that a pod has one at a time. The caller holds the lock.
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

// limiter limits the requests that wait, in all and by namespace.
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
