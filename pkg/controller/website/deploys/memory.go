// Package deploys remembers the cause of the next release of a Website, and limits its requests to
// sync.
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
	// syncInterval is the minimum average interval between syncs that are started on request, and
	// syncBurst their burst: a push can follow another. Requests that arrive meanwhile are merged
	// into one.
	syncInterval = 5 * time.Second
	syncBurst    = 2
)

// Memory has the cause of the next release of one Website, and the times of its requests to sync. It
// starts from the status: without the time of the request, a release is reported without a delay.
type Memory struct {
	mu sync.Mutex
	// served is the last generation that all pods are known to have served. changed is the time of
	// the first observation of the current generation, or zero.
	generation, served int64
	changed            time.Time
	// requested is the ID of the last request to sync, first observed at requestedTime.
	requested     int64
	requestedTime time.Time
	// started is the ID of the last request that was started at begun. The request was first observed
	// at observed, or zero.
	started         int64
	begun, observed time.Time
	// token identifies the started request with the ID tokenID to the pods. The ID alone does not:
	// after a restore of the store another request can have it, which a pod would consider completed.
	tokenID int64
	token   string
	// starts limits the requests to sync that are started. It is nil before the first one to save
	// memory.
	starts *rate.Limiter
}

// New returns the memory of a Website from its status.
func New(website *v1beta1.Website) *Memory {
	m := &Memory{generation: website.Generation, served: website.Status.ObservedGeneration}
	if sync := website.Status.Sync; sync != nil {
		m.requested, m.requestedTime = sync.LastRequest.ID, sync.LastRequest.Time.Time
	}
	if synced := meta.FindStatusCondition(website.Status.Conditions, v1beta1.WebsiteSynced); synced != nil {
		m.served = synced.ObservedGeneration
	}
	return m
}

// Observe records the current state of the Website.
func (m *Memory) Observe(website *v1beta1.Website, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if website.Generation > m.generation {
		m.generation, m.changed = website.Generation, now
	}
	m.observeSync(website.Status.Sync, now)
}

// observeSync records the first observation of the last request to sync, and of the started one.
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

// SyncToken returns the token of the running request to sync of the Website, or "".
func (m *Memory) SyncToken(website *v1beta1.Website) string {
	if status.RunningSync(website.Status.Sync) == 0 {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.token
}

// CompletedSync returns the time of the first observation of the completed request to sync, or zero.
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

// Recall adds the remembered causes and times to the observed state of the Website.
func (m *Memory) Recall(input *status.Input) {
	m.mu.Lock()
	defer m.mu.Unlock()
	input.SyncRequest.MayStart = UntilToken(m.starts, input.Now) == 0
	if status.RunningSync(input.Website.Status.Sync) != 0 {
		input.SyncRequest.Token, input.SyncRequest.Begun, input.SyncRequest.Observed = m.token, m.begun, m.observed
	}
	input.Origin.SpecChanged = m.served < input.Website.Generation
	if input.Origin.SpecChanged {
		input.Origin.SpecChangedTime = m.changed
	}
}

// Served records that all pods serve a generation of the spec.
func (m *Memory) Served(generation int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.served = max(m.served, generation)
}

// Started records that a request to sync has been started.
func (m *Memory) Started(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.starts == nil {
		m.starts = rate.NewLimiter(rate.Every(syncInterval), syncBurst)
	}
	m.starts.AllowN(now, 1)
}

// UntilStart returns the time until the next request to sync may be started.
func (m *Memory) UntilStart(now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return UntilToken(m.starts, now)
}

// UntilToken returns the time until the next token of a limiter. A nil limiter has all its tokens.
func UntilToken(limiter *rate.Limiter, now time.Time) time.Duration {
	if limiter == nil {
		return 0
	}
	missing := 1 - limiter.TokensAt(now)
	return max(0, time.Duration(missing/float64(limiter.Limit())*float64(time.Second)))
}
