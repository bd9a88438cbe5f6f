package website

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/routing"
)

const (
	// handoverLimit bounds how long routes wait for those of another Website, which may never
	// be accepted.
	handoverLimit = 15 * time.Second
	// handoverCheck is the interval at which they check for them.
	handoverCheck = 500 * time.Millisecond
)

// handovers remembers since when the routes of Websites wait: without that, requests for a host
// that moves from one Website to another fail between the removal of the former routes and the
// acceptance of the new ones.
type handovers struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	since map[cache.ObjectName]time.Time
}

func newHandovers(clock clock.PassiveClock) *handovers {
	return &handovers{clock: clock, since: map[cache.ObjectName]time.Time{}}
}

// forget drops what is known of a Website that is gone, or has nothing to wait for.
func (h *handovers) forget(key cache.ObjectName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.since, key)
}

// isOver reports whether a Website has waited for long enough, from its first call on.
func (h *handovers) isOver(key cache.ObjectName) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock.Now()
	if h.since[key].IsZero() {
		h.since[key] = now
	}
	return now.Sub(h.since[key]) >= handoverLimit
}

// handsOver says for which Website the routes of another one wait, or "": for one that has got a
// host of theirs, and has no accepted routes for it yet.
func (r *reconciler) handsOver(website *v1beta1.Website, held []string) string {
	key := cache.MetaObjectToName(website)
	for _, host := range r.routesOf(website).Hosts() {
		heir := holderOf(r.websiteIndex, host)
		if slices.Contains(held, host) || heir == nil || heir.UID == website.UID || r.routesOf(heir).Accept(host) {
			continue
		}
		if r.routes.handovers.isOver(key) {
			return ""
		}
		r.statuses.queue.AddAfter(key, handoverCheck)
		return fmt.Sprintf("the routes change when those of the Website that has got the host %s are accepted", host)
	}
	r.routes.handovers.forget(key)
	return ""
}

func (r *reconciler) routesOf(website *v1beta1.Website) routing.Children {
	return routing.Children{HTTPRoutes: r.children.HTTPRoutes.Of(website), Ingresses: r.children.Ingresses.Of(website)}
}
