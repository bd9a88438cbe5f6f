package routes

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/tools/cache"

	api "github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

const (
	// handoverLimit is the maximum time for which routes stay until the routes of another Website are
	// accepted: that may never happen.
	handoverLimit = 15 * time.Second
	// handoverCheck is the polling interval meanwhile.
	handoverCheck = 500 * time.Millisecond
)

// handsOver returns a message while a Website keeps its routes for the new owner of a host, which has
// no accepted routes for it yet, or "". Otherwise requests for the host would fail between the
// removal of the former routes and the acceptance of the new ones. since is the start of that wait,
// or zero.
func (r *Routes) handsOver(website *v1beta1.Website, held []string, since *time.Time) string {
	now := r.clock.Now()
	for _, host := range r.routesOf(website).Hosts() {
		heir := holderOf(r.websites, host)
		if slices.Contains(held, host) || heir == nil || heir.UID == website.UID || r.routesOf(heir).Accept(host) {
			continue
		}
		if since.IsZero() {
			*since = now
		}
		if now.Sub(*since) >= handoverLimit {
			return ""
		}
		r.queue.AddAfter(cache.MetaObjectToName(website), handoverCheck)
		return fmt.Sprintf("the routes stay until the routes of the new owner of host %s are accepted", host)
	}
	*since = time.Time{}
	return ""
}

func (r *Routes) routesOf(website *v1beta1.Website) routedChildren {
	return routedChildren{HTTPRoutes: r.children.HTTPRoutes.Of(website), Ingresses: r.children.Ingresses.Of(website)}
}

// heldHosts returns the hosts that a Website owns, and describes the owners of its other hosts. The
// oldest Website of all namespaces owns a host. An owner in another namespace is not named: readers
// of this status may have no access to it.
func (r *Routes) heldHosts(website *v1beta1.Website) (held []string, taken map[string]string) {
	for _, host := range resources.HostNames(website) {
		holder := oldestWithHost(r.websites, website, host)
		switch {
		case holder == nil:
			held = append(held, host)
			continue
		case taken == nil:
			taken = map[string]string{}
		}
		taken[host] = "a Website of another namespace"
		if holder.Namespace == website.Namespace {
			taken[host] = fmt.Sprintf("%s %q", resources.Kind, holder.Name)
		}
	}
	return held, taken
}

// oldestWithHost returns the oldest other Website with a host if it is older than this one,
// or nil.
func oldestWithHost(index cache.Indexer, website *v1beta1.Website, host string) *v1beta1.Website {
	holder := holderOf(index, host)
	if holder == nil || holder.UID == website.UID || !api.IsOlder(holder, website) {
		return nil
	}
	return holder
}

// holderOf returns the owner of a host, the oldest Website, or nil. A Website that is being deleted
// gives its hosts up.
func holderOf(index cache.Indexer, host string) *v1beta1.Website {
	return oldestOf(cached.Indexed[*v1beta1.Website](index, byHost, host))
}

// oldestOf returns the oldest Website that is not being deleted, or nil.
func oldestOf(websites []*v1beta1.Website) *v1beta1.Website {
	var oldest *v1beta1.Website
	for _, website := range websites {
		if website.DeletionTimestamp.IsZero() && (oldest == nil || api.IsOlder(website, oldest)) {
			oldest = website
		}
	}
	return oldest
}
