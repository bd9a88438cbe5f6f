package website

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/tools/cache"

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

// handsOver says for which Website the routes of another one wait, or "": for one that has got a
// host of theirs, and has no accepted routes for it yet. Otherwise requests for the host fail between the
// removal of the former routes and the acceptance of the new ones.
func (r *reconciler) handsOver(website *v1beta1.Website, held []string) string {
	known, now := r.memory.of(website), r.clock.Now()
	for _, host := range r.routesOf(website).Hosts() {
		heir := holderOf(r.websiteIndex, host)
		if slices.Contains(held, host) || heir == nil || heir.UID == website.UID || r.routesOf(heir).Accept(host) {
			continue
		}
		if known.handover.IsZero() {
			known.handover = now
		}
		if now.Sub(known.handover) >= handoverLimit {
			return ""
		}
		r.statuses.queue.AddAfter(cache.MetaObjectToName(website), handoverCheck)
		return fmt.Sprintf("the routes change when those of the Website that has got the host %s are accepted", host)
	}
	known.handover = time.Time{}
	return ""
}

func (r *reconciler) routesOf(website *v1beta1.Website) routing.Children {
	return routing.Children{HTTPRoutes: r.children.HTTPRoutes.Of(website), Ingresses: r.children.Ingresses.Of(website)}
}
