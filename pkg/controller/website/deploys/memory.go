// Package deploys remembers of a Website what explains its next release, and limits its requests to sync.
package deploys

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

const (
	// syncInterval is the average interval of the requests to sync that are started, at
	// least, and syncBurst how many of them there may be at once: a push can follow another.
	// Requests that come meanwhile are one.
	syncInterval = 5 * time.Second
	syncBurst    = 2
)

// Memory remembers of one Website what explains its next release, and when its requests to sync were started. It
// begins with the status: a release of which it does not know when it was requested is reported without that.
type Memory struct {
	mu sync.Mutex
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
}

// New returns the memory of a Website of which nothing is known but its status.
func New(website *v1beta1.Website) *Memory {
	m := &Memory{generation: website.Generation, settled: website.Status.ObservedGeneration}
	if sync := website.Status.Sync; sync != nil {
		m.requested, m.requestedTime = sync.LastRequest.ID, sync.LastRequest.Time.Time
	}
	if synced := meta.FindStatusCondition(website.Status.Conditions, v1beta1.WebsiteSynced); synced != nil {
		m.settled = synced.ObservedGeneration
	}
	return m
}

// Observe takes in the Website as it is now.
func (m *Memory) Observe(website *v1beta1.Website, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if website.Generation > m.generation {
		m.generation, m.changed = website.Generation, now
	}
	m.observeSync(website.Status.Sync, now)
}

// observeSync notes since when the last request to sync is known, and the started one worked on.
func (m *Memory) observeSync(sync *v1beta1.WebsiteSyncStatus, now time.Time) {
	if sync == nil {
		m.requested, m.started = 0, 0
		return
	}
	if id := sync.LastRequest.ID; id != m.requested {
		m.requested, m.requestedTime = id, now
	}
	switch {
	case sync.StartedID == sync.LastRequest.ID:
		m.tokenID, m.token = sync.StartedID, fmt.Sprintf("%d.%d", sync.StartedID, sync.LastRequest.Time.Unix())
	case status.RunningSync(sync) != 0 && sync.StartedID != m.tokenID:
		m.tokenID, m.token = sync.StartedID, fmt.Sprintf("%d.%d", sync.StartedID, now.Unix())
	}
	if sync.StartedID == m.started {
		return
	}
	m.started, m.begun, m.observed = sync.StartedID, now, time.Time{}
	if m.started == m.requested {
		m.observed = m.requestedTime
	}
}

// SyncToken returns the token of the running request to sync of the Website, or nothing.
func (m *Memory) SyncToken(website *v1beta1.Website) string {
	if status.RunningSync(website.Status.Sync) == 0 {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.token
}

// CompletedSync returns since when the request to sync is known that is completed, or zero.
func (m *Memory) CompletedSync(website *v1beta1.Website) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	sync := website.Status.Sync
	switch {
	case sync == nil || sync.LastCompleted == nil:
		return time.Time{}
	case sync.LastCompleted.ID == m.started:
		return m.observed
	case sync.LastCompleted.ID == m.requested:
		return m.requestedTime
	}
	return time.Time{}
}

// Recall adds to what was found of the Website what is remembered.
func (m *Memory) Recall(found *status.Input) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found.SyncRequest.MayStart = UntilToken(m.starts, found.Now) == 0
	if status.RunningSync(found.Website.Status.Sync) != 0 {
		found.SyncRequest.Token, found.SyncRequest.Begun, found.SyncRequest.Observed = m.token, m.begun, m.observed
	}
	found.Origin.SpecChanged = m.settled < found.Website.Generation
	if found.Origin.SpecChanged {
		found.Origin.SpecChangedTime = m.changed
	}
}

// Settle notes that all pods serve what a generation of the spec says.
func (m *Memory) Settle(generation int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled = max(m.settled, generation)
}

// Started notes that a request to sync has been started.
func (m *Memory) Started(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.starts == nil {
		m.starts = rate.NewLimiter(rate.Every(syncInterval), syncBurst)
	}
	m.starts.AllowN(now, 1)
}

// UntilStart returns how long after a time the next request to sync has to wait.
func (m *Memory) UntilStart(now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return UntilToken(m.starts, now)
}

// UntilToken returns how long after a time the next token of a limiter has to wait. One that is nil has all of them.
func UntilToken(limiter *rate.Limiter, now time.Time) time.Duration {
	if limiter == nil {
		return 0
	}
	missing := 1 - limiter.TokensAt(now)
	return max(0, time.Duration(missing/float64(limiter.Limit())*float64(time.Second)))
}
