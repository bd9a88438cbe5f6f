package podprobe

import (
	"context"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// expect has the pods of a Website that lack a commit look for it: they would fetch it up to
// a polling interval of git-sync later. Each is asked once for a commit: that the second one
// has it too is no news for the third. Pods that show another commit with every probe do not
// have each other probed without end. The caller holds the lock.
func (p *Prober) expect(ctx context.Context, website cache.ObjectName, commit string) {
	if wanted := p.deploys[website]; commit == "" || wanted != nil && wanted.Pin != "" {
		return
	}
	now := p.Clock.Now()
	for uid := range p.siblings[website] {
		other := p.pods[uid]
		// One that is requested to sync, or to serve a commit, fetches already.
		if !other.known || other.Commit == commit || other.prepared == commit || other.expected == commit ||
			other.isDeploying() {
			continue
		}
		other.expected, other.unchanged = commit, 0
		look := ask{wait: expectWait, after: other.revision, hold: true, expect: commit}
		switch {
		case !other.asks.AllowN(now, 1):
			p.queue.AddAfter(other.key(), siblingPeriod)
		case !other.canWait() || !p.start(ctx, other, look, p.urgent):
			p.queue.AddAfter(other.key(), minPeriod-now.Sub(other.begun))
		}
	}
}

// round is that pods of a Website hold releases back until all have the same one. It ends
// with that, or when it takes too long, however many commits are pushed meanwhile.
type round struct {
	// seen are the commits that were held, and latest is the last of them to be seen.
	seen   sets.Set[string]
	latest string
	// end ends the wait for the deadline.
	end context.CancelFunc
}

// coordinate has the pods of a Website switch to a release once all that are ready have
// prepared it, or when it takes too long. If a push lands between the fetches of two pods,
// they hold different commits, of which the later one is not known. Each is asked to fetch
// again for the commit of the other: the one whose commit is not the last any more gives it
// up. The caller holds the lock.
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
		if current != nil {
			current.end()
			delete(p.rounds, website)
		}
		return
	}
	if current == nil {
		current = p.beginRound(ctx, website)
	}
	for commit := range held {
		if !current.seen.Has(commit) {
			current.seen.Insert(commit)
			current.latest = commit
		}
	}
	p.expect(ctx, website, current.latest)
}

// watchHold waits for what a pod fetches that was asked for a commit, and holds another until
// then. The caller holds the lock.
func (p *Prober) watchHold(ctx context.Context, r *record, made ask, turn uint64) {
	isBehind := made.expect != "" && r.prepared != "" && r.prepared != made.expect
	if isBehind && r.turn == turn && r.canWait() && r.asks.AllowN(p.Clock.Now(), 1) {
		p.start(ctx, r, ask{wait: expectWait, after: r.revision, hold: true}, p.urgent)
	}
}

// held returns the commits that pods of a Website hold back. The caller holds the lock.
func (p *Prober) held(website cache.ObjectName) sets.Set[string] {
	held := sets.New[string]()
	for uid := range p.siblings[website] {
		if prepared := p.pods[uid].prepared; prepared != "" {
			held.Insert(prepared)
		}
	}
	return held
}

// beginRound begins a round, at whose end each pod serves what it holds. The caller holds the
// lock.
func (p *Prober) beginRound(ctx context.Context, website cache.ObjectName) *round {
	roundCtx, end := context.WithCancel(ctx)
	begun := &round{seen: sets.New[string](), end: end}
	p.rounds[website] = begun
	p.waiting.Go(func() {
		defer end()
		select {
		case <-p.Clock.After(p.maxHold):
		case <-roundCtx.Done():
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.rounds[website] != begun {
			return
		}
		delete(p.rounds, website)
		for commit := range p.held(website) {
			p.release(ctx, website, commit)
		}
	})
	return begun
}

// allHave reports whether all pods that are ready and can tell serve or hold a commit. The
// caller holds the lock.
func (p *Prober) allHave(website cache.ObjectName, commit string) bool {
	for uid := range p.siblings[website] {
		other := p.pods[uid]
		if workload.IsReady(other.pod) && other.known && other.Reachable && other.revision != "" &&
			other.Commit != commit && other.prepared != commit {
			return false
		}
	}
	return true
}

// release has the pods that hold a commit back serve it. The caller holds the lock.
func (p *Prober) release(ctx context.Context, website cache.ObjectName, commit string) {
	for uid := range p.siblings[website] {
		other := p.pods[uid]
		if other.prepared != commit {
			continue
		}
		// If it cannot be sent, the hold ends by itself.
		other.prepared, other.expected = "", commit
		if other.prompts.AllowN(p.Clock.Now(), 1) {
			p.start(ctx, other, ask{wait: expectWait, after: other.revision, release: commit}, p.urgent)
		}
	}
}

// replicas returns how many pods of a Website are ready. The caller holds the lock.
func (p *Prober) replicas(website cache.ObjectName) int {
	ready := 0
	for uid := range p.siblings[website] {
		if workload.IsReady(p.pods[uid].pod) {
			ready++
		}
	}
	return ready
}
