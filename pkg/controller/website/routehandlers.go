package website

import (
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// gatewayHandler queues the Websites with hosts when a Gateway changes in a way that is read
// here. How many routes each listener has is not: it changes with every Website.
func (h *eventHandlers) gatewayHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { h.enqueueRouted() },
		DeleteFunc: func(any) { h.enqueueRouted() },
		UpdateFunc: func(previous, obj any) {
			before, ok := previous.(*gatewayv1.Gateway)
			after, isGateway := obj.(*gatewayv1.Gateway)
			if !ok || !isGateway || before.UID == after.UID && before.Generation == after.Generation &&
				apiequality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions) &&
				apiequality.Semantic.DeepEqual(before.Status.Addresses, after.Status.Addresses) {
				return
			}
			h.enqueueRouted()
		},
	}
}

// enqueueRouted queues the Websites that have routes, or are to have some.
func (h *eventHandlers) enqueueRouted() {
	for _, website := range indexedWebsites(h.websiteIndex, byRouted, "") {
		h.queue.Enqueue(cache.MetaObjectToName(website))
	}
}

// enqueueRivals queues the Websites with a host that this one has had or gets, and which
// of the two has it may change. Either may be nil.
func (h *eventHandlers) enqueueRivals(before, after *v1beta1.Website) {
	var hosts []string
	for _, website := range []*v1beta1.Website{before, after} {
		if website != nil {
			hosts = append(hosts, website.Spec.Hosts...)
		}
	}
	slices.Sort(hosts)
	for _, host := range slices.Compact(hosts) {
		for _, rival := range indexedWebsites(h.websiteIndex, byHost, host) {
			if after == nil || rival.UID != after.UID {
				h.queue.Enqueue(cache.MetaObjectToName(rival))
			}
		}
	}
}
