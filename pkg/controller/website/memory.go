package website

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/deploys"
	"github.com/kubesites/website-apiserver/pkg/controller/website/events"
)

// memory is the state that the controller keeps from one reconciliation of a Website to the next. It
// is empty at the start: state that must survive a restart is in the status of Websites.
type memory struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	websites map[cache.ObjectName]*remembered
}

// remembered is the state of one Website. Event handlers use deploys as well, all other fields are
// used by one reconciliation at a time.
type remembered struct {
	uid     types.UID
	deploys *deploys.Memory
	events  events.Reported
	// isAttempted is true if the controller has tried to create the children of a Website without a
	// status.
	isAttempted bool
	// hasStatus is true if the controller has written a status with an observed generation.
	hasStatus bool
	// portRefused is the time since when the node port of a deleted Service is rejected, or zero.
	portRefused time.Time
	// handover is the time since when the routes stay for another Website, or zero.
	handover time.Time
	// previewsTooOld is from the last selection of previews. It is read-only.
	previewsTooOld map[string]time.Time
	// statusChanged is the time since when the status differs from the written one, or zero.
	statusChanged time.Time
	// commits limits the writes because of another commit. It is nil before the first one to save
	// memory.
	commits *rate.Limiter
}

func newMemory(clock clock.PassiveClock) *memory {
	return &memory{clock: clock, websites: map[cache.ObjectName]*remembered{}}
}

// of returns the state of a Website.
func (m *memory) of(website *v1beta1.Website) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := cache.MetaObjectToName(website)
	known := m.websites[key]
	if known == nil || known.uid != website.UID {
		known = &remembered{uid: website.UID, deploys: deploys.New(website)}
		m.websites[key] = known
	}
	return known
}

// observe records the current state of a Website, and returns the memory of its releases.
func (m *memory) observe(website *v1beta1.Website) *deploys.Memory {
	deploys := m.of(website).deploys
	deploys.Observe(website, m.clock.Now())
	return deploys
}

// events returns the reports about a Website.
func (m *memory) events(website *v1beta1.Website) *events.Reported { return &m.of(website).events }

// forget drops the state of a Website that is gone.
func (m *memory) forget(key cache.ObjectName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.websites, key)
}
