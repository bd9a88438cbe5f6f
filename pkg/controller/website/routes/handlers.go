package routes

import (
	"cmp"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	api "github.com/kubesites/website-apiserver/pkg/apis/website"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/queue"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

const (
	// byHost indexes Websites by their hosts, over all namespaces.
	byHost = "host"
	// byRouted indexes the Websites with routes, under "".
	byRouted = "routed"
	// byGateway indexes HTTPRoutes and the Websites with routes by their Gateways, over all namespaces.
	byGateway = "gateway"
)

// Indexers returns the indexers for the cache of Websites.
func Indexers(defaults Defaults) cache.Indexers {
	indexers := cache.Indexers{}
	for name, of := range map[string]func(*v1beta1.Website) []string{
		byHost: resources.HostNames,
		byRouted: func(website *v1beta1.Website) []string {
			if !hasRoutes(website) {
				return nil
			}
			return []string{""}
		},
		byGateway: func(website *v1beta1.Website) (keys []string) {
			if !hasRoutes(website) {
				return nil
			}
			for _, gateway := range defaults.gatewaysOf(website) {
				keys = append(keys, gateway.String())
			}
			return keys
		},
	} {
		indexers[name] = func(obj any) ([]string, error) {
			website, ok := obj.(*v1beta1.Website)
			if !ok {
				return nil, nil
			}
			return of(website), nil
		}
	}
	return indexers
}

// gatewayHandler queues the Websites of a Gateway if a relevant field changes. The number of routes
// of a listener is not relevant: it changes with every Website. The first list need not queue any,
// because all Websites with routes are queued after it.
func (r *Routes) gatewayHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				r.enqueueRoutedBy(obj)
			}
		},
		DeleteFunc: r.enqueueRoutedBy,
		UpdateFunc: func(previous, obj any) {
			before, ok := previous.(*gatewayv1.Gateway)
			after, isGateway := obj.(*gatewayv1.Gateway)
			if !ok || !isGateway || before.UID == after.UID && before.Generation == after.Generation &&
				apiequality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions) &&
				apiequality.Semantic.DeepEqual(before.Status.Addresses, after.Status.Addresses) {
				return
			}
			r.enqueueRoutedBy(after)
		},
	}
}

// enqueueRoutedBy queues the Websites whose hosts a Gateway routes or should route, and those with
// remaining routes at it.
func (r *Routes) enqueueRoutedBy(obj any) {
	key, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil || !r.queue.Running.Load() {
		return
	}
	for _, website := range cached.Indexed[*v1beta1.Website](r.websites, byGateway, key.String()) {
		r.queue.Enqueue(cache.MetaObjectToName(website))
	}
	for _, route := range r.router.routesAt(key) {
		r.enqueueOwner(route, queue.Background)
	}
}

// enqueueRouted queues the Websites that have, or should have, routes.
func (r *Routes) enqueueRouted() {
	for _, website := range cached.Indexed[*v1beta1.Website](r.websites, byRouted, "") {
		r.queue.Enqueue(cache.MetaObjectToName(website))
	}
}

// EnqueueRivals queues the other Websites for which this change gives a host another owner. before
// and after are the states of the changed Website; either may be nil.
func (r *Routes) EnqueueRivals(before, after *v1beta1.Website) {
	if r == nil || !r.queue.Running.Load() {
		return // Otherwise each Website of the first list is compared with all others.
	}
	this := cmp.Or(after, before)
	queued := sets.New[cache.ObjectName]()
	for _, host := range contestedHosts(before, after) {
		// The index may have a later state of this Website, whose event follows.
		rivals := slices.DeleteFunc(cached.Indexed[*v1beta1.Website](r.websites, byHost, host),
			func(website *v1beta1.Website) bool {
				return website.Namespace == this.Namespace && website.Name == this.Name
			})
		oldest := oldestOf(rivals)
		former, holder := holderWith(oldest, before, host), holderWith(oldest, after, host)
		if former != nil && holder != nil && former.UID == holder.UID {
			continue
		}
		for _, rival := range rivals {
			// The status of Websites in other namespaces does not name the owner of a host.
			if key := cache.MetaObjectToName(rival); !queued.Has(key) &&
				(isIn(former, rival.Namespace) || isIn(holder, rival.Namespace)) {
				queued.Insert(key)
				r.queue.Enqueue(key)
			}
		}
	}
}

func isIn(website *v1beta1.Website, namespace string) bool {
	return website != nil && website.Namespace == namespace
}

// contestedHosts returns the hosts that a Website claims before or after a change, but not both.
func contestedHosts(before, after *v1beta1.Website) []string {
	var hosts []string
	isSame := before != nil && after != nil && before.UID == after.UID
	for _, change := range []struct{ of, other *v1beta1.Website }{{before, after}, {after, before}} {
		if change.of == nil {
			continue
		}
		for _, host := range resources.HostNames(change.of) {
			if claimsHost(change.of, host) && !(isSame && claimsHost(change.other, host)) {
				hosts = append(hosts, host)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// claimsHost reports whether a Website claims a host. It may be nil.
func claimsHost(website *v1beta1.Website, host string) bool {
	return website != nil && website.DeletionTimestamp.IsZero() &&
		slices.ContainsFunc(website.Spec.Hosts, func(h v1beta1.WebsiteHost) bool { return h.Name == host })
}

// holderWith returns the owner of a host, either the oldest of the rivals or this Website, or nil.
func holderWith(oldest, website *v1beta1.Website, host string) *v1beta1.Website {
	if claimsHost(website, host) && (oldest == nil || api.IsOlder(website, oldest)) {
		return website
	}
	return oldest
}
