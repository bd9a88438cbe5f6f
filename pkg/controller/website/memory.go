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

// memory is what the controller remembers of Websites from one reconciliation to the next. It begins empty: what must
// survive a restart is in their status.
type memory struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	websites map[cache.ObjectName]*remembered
}

// remembered is what is remembered of one Website. Event handlers use deploys as well, all else is used by one
// reconciliation at a time.
type remembered struct {
	uid     types.UID
	deploys *deploys.Memory
	events  events.Reported
	// isAttempted is true if the children of a Website without a status were to be created.
	isAttempted bool
	// portRefused is since when the node port of a deleted Service is refused, or zero.
	portRefused time.Time
	// handover is since when the routes wait for those of another Website, or zero.
	handover time.Time
	// previewsTooOld is that of the last selection of previews, to be read only.
	previewsTooOld map[string]time.Time
	// statusChanged is since when the status differs from what is reported, or zero.
	statusChanged time.Time
	// commits limits the writes because of another commit. Nil until there is one: there are many Websites.
	commits *rate.Limiter
}

func newMemory(clock clock.PassiveClock) *memory {
	return &memory{clock: clock, websites: map[cache.ObjectName]*remembered{}}
}

// of returns what is remembered of a Website.
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

// observe returns what is remembered of the releases of a Website, and takes in what it is now.
func (m *memory) observe(website *v1beta1.Website) *deploys.Memory {
	deploys := m.of(website).deploys
	deploys.Observe(website, m.clock.Now())
	return deploys
}

// events returns what was reported about a Website.
func (m *memory) events(website *v1beta1.Website) *events.Reported { return &m.of(website).events }

// forget drops what is remembered of a Website that is gone.
func (m *memory) forget(key cache.ObjectName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.websites, key)
}
