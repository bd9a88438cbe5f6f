package podprobe

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// expect makes the pods of a Website fetch a commit that they lack: they would fetch it up to a
// polling interval later. Each pod is requested once per commit: the third does not get a request
// because the second has the commit too. Pods that show another commit with every probe do not cause
// endless probes of each other. The caller holds the lock.
func (p *Prober) expect(ctx context.Context, website cache.ObjectName, commit string) {
	if wanted := p.deploys[website]; commit == "" || wanted != nil && wanted.Pin != "" {
		return
	}
	now := p.Clock.Now()
	for _, other := range p.siblings[website] {
		// A pod with a pending request to sync, or to serve a commit, fetches already.
		if !other.probed || other.Commit == commit || other.prepared == commit || other.expected == commit ||
			other.isDeploying() {
			continue
		}
		other.expected, other.unchanged = commit, 0
		look := ask{wait: expectWait, after: other.revision, hold: true, expect: commit}
		switch {
		case !other.mayAsk(now):
			p.queue.AddAfter(other.key(), siblingPeriod)
		case !other.canWait() || !p.start(ctx, other, look, p.urgent):
			p.queue.AddAfter(other.key(), minPeriod-now.Sub(other.begun))
		}
	}
}

// round lasts while pods of a Website hold releases back until all have the same one. It also ends at
// a deadline, however many commits are pushed meanwhile.
type round struct {
	// seen are the commits that were held, and latest is the most recent one.
	seen     sets.Set[string]
	latest   string
	deadline time.Time
}

// coordinate makes the pods of a Website switch to a release once all ready pods have prepared it, or
// at a deadline. If a push lands between the fetches of two pods, they hold different commits, and
// their order is unknown. Each is requested to fetch the commit of the other: the pod with the older
// commit gives it up. The caller holds the lock.
func (p *Prober) coordinate(ctx context.Context, website cache.ObjectName) {
	held := p.held(website)
	for commit := range held {
		if p.allHave(website, commit) {
			p.release(ctx, website, commit)
			held.Delete(commit)
		}
	}
	current := p.rounds[website]
	if held.Len() == 0 {
		delete(p.rounds, website)
		return
	}
	if current == nil {
		current = &round{seen: sets.New[string](), deadline: p.Clock.Now().Add(p.maxHold)}
		p.rounds[website] = current
		p.due.AddAfter(website, p.maxHold)
	}
	for commit := range held {
		if !current.seen.Has(commit) {
			current.seen.Insert(commit)
			current.latest = commit
		}
	}
	p.expect(ctx, website, current.latest)
}

// watchHold waits for the fetch of a pod that still holds another commit than the expected one. The
// caller holds the lock.
func (p *Prober) watchHold(ctx context.Context, r *record, made ask, turn uint64) {
	isBehind := made.expect != "" && r.prepared != "" && r.prepared != made.expect
	if isBehind && r.turn == turn && r.canWait() && r.mayAsk(p.Clock.Now()) {
		p.start(ctx, r, ask{wait: expectWait, after: r.revision, hold: true}, p.urgent)
	}
}

// held returns the commits that pods of a Website hold back. The caller holds the lock.
func (p *Prober) held(website cache.ObjectName) sets.Set[string] {
	held := sets.New[string]()
	for _, pod := range p.siblings[website] {
		if pod.prepared != "" {
			held.Insert(pod.prepared)
		}
	}
	return held
}

// endRound has each pod serve the commit that it holds, once the deadline of the round has passed. The caller holds the
// lock.
func (p *Prober) endRound(ctx context.Context, website cache.ObjectName) {
	current := p.rounds[website]
	if current == nil {
		return
	}
	if wait := current.deadline.Sub(p.Clock.Now()); wait > 0 {
		p.due.AddAfter(website, wait)
		return
	}
	delete(p.rounds, website)
	for commit := range p.held(website) {
		p.release(ctx, website, commit)
	}
}

// allHave reports whether all ready pods that report prepared commits serve or hold a commit. The
// caller holds the lock.
func (p *Prober) allHave(website cache.ObjectName, commit string) bool {
	for _, other := range p.siblings[website] {
		if workload.IsReady(other.pod) && other.probed && other.Reachable && other.revision != "" &&
			other.Commit != commit && other.prepared != commit {
			return false
		}
	}
	return true
}

// release makes the pods that hold a commit back serve it. The caller holds the lock.
func (p *Prober) release(ctx context.Context, website cache.ObjectName, commit string) {
	for _, other := range p.siblings[website] {
		if other.prepared != commit {
			continue
		}
		// If the request cannot be sent, the hold ends by itself.
		other.prepared, other.expected = "", commit
		if other.mayPrompt(p.Clock.Now()) {
			p.start(ctx, other, ask{wait: expectWait, after: other.revision, release: commit}, p.urgent)
		}
	}
}

// replicas returns how many pods of a Website are ready. The caller holds the lock.
func (p *Prober) replicas(website cache.ObjectName) int {
	ready := 0
	for _, r := range p.siblings[website] {
		if workload.IsReady(r.pod) {
			ready++
		}
	}
	return ready
}
