package podprobe

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

const (
	// maxDeploying and shareDeploying limit requests to sync or to serve a commit, which
	// wait for a fetch: those of a host that does not answer are not to keep others waiting.
	maxDeploying, shareDeploying = 512, 128
	// deployWait is how long such a request waits.
	deployWait = 30 * time.Second
	// retryDeploy is the shortest time between two such requests of the same content to a
	// pod. It doubles with every one that fails.
	retryDeploy    = time.Second
	maxRetryDeploy = 30 * time.Second
	// maxCommits is how many commits of a Website are remembered.
	maxCommits = 16
)

// Wanted is what the pods of a Website are to do besides following their repository.
type Wanted struct {
	// UID is that of the Website, and Generation that of the spec with Pin: the commit to
	// serve, requests.PinCurrent, or nothing.
	UID        types.UID
	Generation int64
	Pin        string
	// Sync is the request to sync that is not completed, or nothing.
	Sync string
}

// deployed is a Website of which it is known what is wanted.
type deployed struct {
	Wanted
	// seen is when commits were first seen at a pod, and order the order of that.
	seen  map[string]time.Time
	order []string
}

// Want has the pods of a Website do what is wanted. Nil: the Website is gone.
func (p *Prober) Want(website cache.ObjectName, wanted *Wanted) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.deploys[website]
	switch {
	case wanted == nil:
		delete(p.deploys, website)
		return
	case known == nil || known.UID != wanted.UID:
		known = &deployed{seen: map[string]time.Time{}}
		p.deploys[website] = known
	case wanted.Generation < known.Generation:
		// It is of a cache that lags.
		return
	}
	if known.Wanted != *wanted {
		known.Wanted = *wanted
		p.due.Add(website)
	}
}

// FirstSeen returns when a commit was first seen at a pod of a Website, or zero if a pod had
// it when it was probed for the first time.
func (p *Prober) FirstSeen(website cache.ObjectName, commit string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.deploys[website]; known != nil {
		return known.seen[commit]
	}
	return time.Time{}
}

// see remembers when the commits of an answer were first seen, or zero for the first answer
// of a pod. The caller holds the lock.
func (p *Prober) see(r *record, got answer, wasKnown bool, now time.Time) {
	website := p.deploys[r.website]
	if website == nil {
		return
	}
	if !wasKnown {
		now = time.Time{}
	}
	for _, commit := range []string{got.Commit, got.prepared, got.Newest} {
		if _, isKnown := website.seen[commit]; commit == "" || isKnown {
			continue
		}
		website.seen[commit] = now
		if website.order = append(website.order, commit); len(website.order) > maxCommits {
			delete(website.seen, website.order[0])
			website.order = website.order[1:]
		}
	}
}

// nextDeploy requests of the pods of one Website what is wanted and not done.
func (p *Prober) nextDeploy(ctx context.Context) bool {
	website, shutdown := p.due.Get()
	if shutdown {
		return false
	}
	defer p.due.Done(website)
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return true
	}
	for uid := range p.siblings[website] {
		if wait := p.deploy(ctx, p.pods[uid]); wait > 0 {
			p.due.AddAfter(website, wait)
		}
	}
	return true
}

// deploy requests of a pod what is wanted and not done, unless such a request waits. It
// returns how long it has to wait itself. The caller holds the lock.
func (p *Prober) deploy(ctx context.Context, r *record) time.Duration {
	a, needed := p.undone(r)
	switch {
	case !needed || r.isDeploying() && r.waiting.asksFor(a):
		return 0
	case r.waiting != nil && (r.waiting.release != "" || r.waiting.expect != ""):
		return 0 // It is short, and its answer leads here again.
	case !r.deployed.asksFor(a) && r.prompts.AllowN(p.Clock.Now(), 1):
		r.deployFailures, r.deployTime = 0, time.Time{}
	}
	if wait := r.deployTime.Sub(p.Clock.Now()); wait > 0 {
		return wait
	}
	if !p.start(ctx, r, a, p.deployLimit) {
		return retryDeploy
	}
	r.deployed = a
	return 0
}

// isDeploying reports whether a request to sync, or to serve a commit, waits.
func (r *record) isDeploying() bool { return r.waiting != nil && r.waiting.deploys() }

// undone returns the request of a pod for what is wanted and not done, if there is such. The
// caller holds the lock.
func (p *Prober) undone(r *record) (ask, bool) {
	wanted := p.deploys[r.website]
	if wanted == nil || !r.known || !r.Reachable || !workload.CanAnswer(r.pod) {
		return ask{}, false
	}
	a := ask{wait: deployWait, after: r.revision, hold: p.replicas(r.website) > 1}
	// What is held is waited for by the request that ends the hold.
	if wanted.Sync != "" && r.Synced != wanted.Sync && r.prepared == "" {
		a.sync = wanted.Sync
	}
	isSwitching := requests.IsCommit(wanted.Pin) && r.Commit != wanted.Pin && r.prepared != wanted.Pin &&
		r.Failure == "" && !r.PathNotFound
	if r.Pin != wanted.Pin || isSwitching {
		a.pins, a.pin, a.generation = true, wanted.Pin, wanted.Generation
	}
	return a, a.deploys()
}

// deploys reports whether a request is to sync, or to serve a commit.
func (a ask) deploys() bool { return a.sync != "" || a.pins }

// asksFor reports whether two requests are to sync for the same one, and to serve the same
// commit.
func (a ask) asksFor(other ask) bool {
	return a.sync == other.sync && a.pins == other.pins && a.pin == other.pin && a.generation == other.generation
}

// deployAnswered takes in that a request has been answered after some time, or has failed, and
// has the pods of its Website requested what is still not done. The caller holds the lock.
func (p *Prober) deployAnswered(r *record, made ask, took time.Duration, err error) {
	_, undone := p.undone(r)
	if made.deploys() && (err != nil || undone && took < made.wait/2) {
		r.deployTime = p.Clock.Now().Add(min(retryDeploy<<min(r.deployFailures, 10), maxRetryDeploy))
		r.deployFailures++
	} else if made.deploys() {
		r.deployFailures, r.deployTime = 0, time.Time{}
	}
	if undone {
		p.due.Add(r.website)
	}
}
