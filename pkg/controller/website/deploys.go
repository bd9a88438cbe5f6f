package website

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

const (
	// syncInterval is the average interval of the requests to sync that are started, at
	// least, and syncBurst how many of them there may be at once: a push can follow another.
	// Requests that come meanwhile are one.
	syncInterval = 5 * time.Second
	syncBurst    = 2
)

// deployMemory remembers of each Website what explains its next release, when its requests to
// sync were started, and since when its previews are too old. It begins empty: a release of
// which it does not know when it was requested is reported without that.
type deployMemory struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	websites map[cache.ObjectName]*deploys
}

// deploys is what is remembered of one Website.
type deploys struct {
	uid types.UID
	// settled is the last generation of which it is known that all pods served what it says.
	// changed is when the current one was first seen, or zero.
	generation, settled int64
	changed             time.Time
	// requested is the id of the last request to sync, known since requestedTime.
	requested     int64
	requestedTime time.Time
	// started is that of the last one that was started. It is worked on since begun, and known since observed, or
	// zero.
	started         int64
	begun, observed time.Time
	// token identifies the started request with the id tokenID towards the pods. The id alone does not: after a
	// restore of the store it can be that of another request, which a pod would take for answered.
	tokenID int64
	token   string
	// starts limits the requests to sync that are started. Nil until there is one: there are many Websites.
	starts *rate.Limiter
	// previewsTooOld is that of the last selection of previews.
	previewsTooOld map[string]time.Time
}

func newDeployMemory(clock clock.PassiveClock) *deployMemory {
	return &deployMemory{clock: clock, websites: map[cache.ObjectName]*deploys{}}
}

// forget drops what is known of a Website that is gone.
func (m *deployMemory) forget(key cache.ObjectName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.websites, key)
}

// see takes in a Website.
func (m *deployMemory) see(website *v1beta1.Website) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(website)
}

// of returns what is remembered of a Website. The caller holds the lock.
func (m *deployMemory) of(website *v1beta1.Website) *deploys {
	key, now := cache.MetaObjectToName(website), m.clock.Now()
	known := m.websites[key]
	if known == nil || known.uid != website.UID {
		known = &deploys{uid: website.UID, generation: website.Generation, settled: website.Status.ObservedGeneration}
		if sync := website.Status.Sync; sync != nil {
			known.requested, known.requestedTime = sync.LastRequest.ID, sync.LastRequest.Time.Time
		}
		if synced := meta.FindStatusCondition(website.Status.Conditions, v1beta1.WebsiteSynced); synced != nil {
			known.settled = synced.ObservedGeneration
		}
		m.websites[key] = known
	}
	if website.Generation > known.generation {
		known.generation, known.changed = website.Generation, now
	}
	known.observeSync(website.Status.Sync, now)
	return known
}

// observeSync notes since when the last request to sync is known, and the started one worked on.
func (d *deploys) observeSync(sync *v1beta1.WebsiteSyncStatus, now time.Time) {
	if sync == nil {
		d.requested, d.started = 0, 0
		return
	}
	if id := sync.LastRequest.ID; id != d.requested {
		d.requested, d.requestedTime = id, now
	}
	switch {
	case sync.StartedID == sync.LastRequest.ID:
		d.tokenID, d.token = sync.StartedID, fmt.Sprintf("%d.%d", sync.StartedID, sync.LastRequest.Time.Unix())
	case status.RunningSync(sync) != 0 && sync.StartedID != d.tokenID:
		d.tokenID, d.token = sync.StartedID, fmt.Sprintf("%d.%d", sync.StartedID, now.Unix())
	}
	if sync.StartedID == d.started {
		return
	}
	d.started, d.begun, d.observed = sync.StartedID, now, time.Time{}
	if d.started == d.requested {
		d.observed = d.requestedTime
	}
}

// syncToken returns the token of the running request to sync of a Website, or nothing.
func (m *deployMemory) syncToken(website *v1beta1.Website) string {
	if status.RunningSync(website.Status.Sync) == 0 {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(website).token
}

// completedSync returns since when the request to sync is known that is completed, or zero.
func (m *deployMemory) completedSync(website *v1beta1.Website) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, sync := m.of(website), website.Status.Sync
	switch {
	case sync == nil || sync.LastCompleted == nil:
		return time.Time{}
	case sync.LastCompleted.ID == known.started:
		return known.observed
	case sync.LastCompleted.ID == known.requested:
		return known.requestedTime
	}
	return time.Time{}
}

// recall adds to what was found of a Website what is remembered.
func (m *deployMemory) recall(found *status.Input) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(found.Website)
	found.SyncRequest.MayStart = untilToken(known.starts, found.Now) == 0
	if status.RunningSync(found.Website.Status.Sync) != 0 {
		found.SyncRequest.Token, found.SyncRequest.Begun, found.SyncRequest.Observed = known.token, known.begun, known.observed
	}
	found.Origin.SpecChanged = known.settled < found.Website.Generation
	if found.Origin.SpecChanged {
		found.Origin.SpecChangedTime = known.changed
	}
}

// settle notes that all pods of a Website serve what its spec says.
func (m *deployMemory) settle(website *v1beta1.Website) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(website)
	known.settled = max(known.settled, website.Generation)
}

// started notes that a request to sync has been started.
func (m *deployMemory) started(website *v1beta1.Website) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.of(website)
	if known.starts == nil {
		known.starts = rate.NewLimiter(rate.Every(syncInterval), syncBurst)
	}
	known.starts.AllowN(m.clock.Now(), 1)
}

// untilStart returns how long after a time the next request to sync of a Website has to wait.
func (m *deployMemory) untilStart(website *v1beta1.Website, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return untilToken(m.of(website).starts, now)
}

// untilToken returns how long after a time the next token of a limiter has to wait. One that is nil has all of them.
func untilToken(limiter *rate.Limiter, now time.Time) time.Duration {
	if limiter == nil {
		return 0
	}
	missing := 1 - limiter.TokensAt(now)
	return max(0, time.Duration(missing/float64(limiter.Limit())*float64(time.Second)))
}

// previewsTooOld returns what was noted last, to be read only.
func (m *deployMemory) previewsTooOld(website *v1beta1.Website) map[string]time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(website).previewsTooOld
}

// notePreviewsTooOld notes since when branches of a Website that have a preview are too old.
func (m *deployMemory) notePreviewsTooOld(website *v1beta1.Website, since map[string]time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(website).previewsTooOld = since
}

// prepareDeploys adds what is remembered to what was found of a Website, has its pods do what
// is wanted, and has it reconciled again when its next request to sync can be started. With problems,
// the pods may be those of an earlier spec.
func (r *reconciler) prepareDeploys(found *status.Input, problems []*problem.Problem) {
	if found == nil {
		return
	}
	website := found.Website
	r.deploys.recall(found)
	found.Origin.SeenTime = r.pods.firstSeen(found)
	if isReported := len(website.Status.History) > 0 && website.Status.History[0].Commit == website.Status.Commit; isReported && len(problems) == 0 && status.Settled(found) {
		r.deploys.settle(website)
	}
	r.pods.want(website)
	if status.IsSyncPending(website.Status.Sync) {
		// At the time by which it could not start: a moment later it may, and nothing else would tell.
		if wait := r.deploys.untilStart(website, found.Now); wait > 0 {
			r.statuses.queue.AddAfter(cache.MetaObjectToName(website), wait)
		}
	}
}

// statusWritten has the pods told of a request to sync that is started now, and reports what
// is published.
func (r *reconciler) statusWritten(before, after *v1beta1.Website) {
	// One that no pod can be requested to do is completed in the same write, and counts as well.
	if status.IsSyncPending(before.Status.Sync) && !status.IsSyncPending(after.Status.Sync) {
		r.deploys.started(after)
	}
	if status.RunningSync(after.Status.Sync) != status.RunningSync(before.Status.Sync) {
		r.pods.want(after)
	}
	r.events.Published(before, after, r.deploys.completedSync(after))
}
