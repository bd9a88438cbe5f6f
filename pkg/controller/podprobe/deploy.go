package podprobe

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

const (
	// maxDeploying and shareDeploying limit requests to sync or to serve a commit, which wait for a
	// fetch: requests for a repository that is unreachable must not delay others.
	maxDeploying, shareDeploying = 512, 128
	// deployWait is the maximum wait of such a request.
	deployWait = 30 * time.Second
	// retryDeploy is the shortest time between two such requests of the same content to a pod. It
	// doubles with every failure.
	retryDeploy    = time.Second
	maxRetryDeploy = 30 * time.Second
	// maxCommits is the number of commits that are remembered for a Website.
	maxCommits = 16
)

// Wanted is the desired state of the pods of a Website, besides following their repository.
type Wanted struct {
	// UID identifies the Website, and Generation the spec with Pin: the commit to serve,
	// requests.PinCurrent, or nothing.
	UID        types.UID
	Generation int64
	Pin        string
	// Sync is the pending request to sync, or empty.
	Sync string
}

// deployed is a Website with a desired state.
type deployed struct {
	Wanted
	// seen are the last commits that pods had, in the order in which they were seen.
	seen []sighting
}

// sighting is a commit and the time of its first observation at a pod, or zero.
type sighting struct {
	commit string
	time   time.Time
}

// sightingOf returns the sighting of a commit, or nil.
func (d *deployed) sightingOf(commit string) *sighting {
	for i := range d.seen {
		if d.seen[i].commit == commit {
			return &d.seen[i]
		}
	}
	return nil
}

// Want sets the desired state of the pods of a Website. Nil means that the Website is gone.
func (p *Prober) Want(website cache.ObjectName, wanted *Wanted) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.deploys[website]
	switch {
	case wanted == nil:
		delete(p.deploys, website)
		return
	case d == nil || d.UID != wanted.UID:
		d = &deployed{}
		p.deploys[website] = d
	case wanted.Generation < d.Generation:
		// The caller's cache lags.
		return
	}
	if d.Wanted != *wanted {
		d.Wanted = *wanted
		p.due.Add(website)
	}
}

// FirstSeen returns the time of the first observation of a commit at a pod of a Website. It is zero
// if a pod had the commit when it was probed for the first time.
func (p *Prober) FirstSeen(website cache.ObjectName, commit string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.deploys[website]; d != nil {
		if seen := d.sightingOf(commit); seen != nil {
			return seen.time
		}
	}
	return time.Time{}
}

// recordSeen records the first observation of the commits in an answer, with a zero time for the first
// answer of a pod. The caller holds the lock.
func (p *Prober) recordSeen(r *record, got answer, wasProbed bool, now time.Time) {
	website := p.deploys[r.website]
	if website == nil {
		return
	}
	if !wasProbed {
		now = time.Time{}
	}
	for _, commit := range []string{got.Commit, got.prepared, got.Newest} {
		if commit == "" || website.sightingOf(commit) != nil {
			continue
		}
		if website.seen = append(website.seen, sighting{commit, now}); len(website.seen) > maxCommits {
			website.seen = slices.Delete(website.seen, 0, 1)
		}
	}
}

// nextDue sends the pending requests for one Website to its pods, and ends its round at the deadline.
func (p *Prober) nextDue(ctx context.Context) bool {
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
	p.endRound(ctx, website)
	for _, r := range p.siblings[website] {
		if wait := p.deploy(ctx, r); wait > 0 {
			p.due.AddAfter(website, wait)
		}
	}
	return true
}

// deploy sends a pod its pending request to sync or to serve a commit, unless such a request waits.
// It returns the time until the next try. The caller holds the lock.
func (p *Prober) deploy(ctx context.Context, r *record) time.Duration {
	a, needed := p.undone(r)
	switch {
	case !needed || r.isDeploying() && r.waiting.deployment == a.deployment:
		return 0
	case r.waiting != nil && (r.waiting.release != "" || r.waiting.expect != ""):
		return 0 // It is short, and its answer leads here again.
	case r.deployed != a.deployment && r.mayPrompt(p.Clock.Now()):
		r.deployFailures, r.deployTime = 0, time.Time{}
	}
	if wait := r.deployTime.Sub(p.Clock.Now()); wait > 0 {
		return wait
	}
	if !p.start(ctx, r, a, p.deployLimit) {
		return retryDeploy
	}
	r.deployed = a.deployment
	return 0
}

// isDeploying reports whether a request to sync, or to serve a commit, waits.
func (r *record) isDeploying() bool { return r.waiting != nil && r.waiting.deploys() }

// undone returns the pending request to a pod, if there is one. The caller holds the lock.
func (p *Prober) undone(r *record) (ask, bool) {
	wanted := p.deploys[r.website]
	if wanted == nil || !r.probed || !r.Reachable || !workload.CanAnswer(r.pod) {
		return ask{}, false
	}
	a := ask{wait: deployWait, after: r.revision, hold: p.replicas(r.website) > 1}
	// The request that ends the hold waits for a held release.
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
func (a ask) deploys() bool { return a.deployment != (deployment{}) }

// deployAnswered records the duration and the result of a request, and queues the pending requests to
// the pods of its Website. The caller holds the lock.
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
