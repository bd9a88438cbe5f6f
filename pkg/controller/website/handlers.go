package website

import (
	"maps"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/queue"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/routes"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
	websitelisters "github.com/kubesites/website-apiserver/pkg/generated/listers/website/v1beta1"
)

// eventHandlers turn the events of informers into Websites to reconcile and pods to probe.
type eventHandlers struct {
	websiteLister websitelisters.WebsiteLister
	websiteIndex  cache.Indexer
	pods          *websitePods
	queue         *queue.Queue
	memory        *memory
	// routes is nil if hosts are not routed.
	routes *routes.Routes
	// shown is called for every object of an event.
	shown func(object any)
}

// websiteHandler queues every changed Website, with priority if its spec has changed. A deleted
// Website is queued too, so that its state in memory is dropped, together with Websites that wait for
// its name.
func (h *eventHandlers) websiteHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			website, ok := objectOf[*v1beta1.Website](obj)
			if !ok {
				return
			}
			h.queue.EnqueueAs(cache.MetaObjectToName(website), queue.ChangedIf(!initial))
			h.recordChange(website)
			h.pods.want(website)
			h.routes.EnqueueRivals(nil, website)
			h.enqueueOwner(website, queue.Background)
			h.pods.probeAll(website)
		},
		UpdateFunc: func(previous, obj any) {
			before, wasWebsite := previous.(*v1beta1.Website)
			website, isWebsite := obj.(*v1beta1.Website)
			if !wasWebsite || !isWebsite {
				return
			}
			isChange := before.Generation != website.Generation || before.UID != website.UID ||
				!before.DeletionTimestamp.Equal(website.DeletionTimestamp) ||
				status.IsSyncPending(website.Status.Sync) && !status.IsSyncPending(before.Status.Sync)
			if website.Generation < before.Generation {
				// The store was restored to an older state.
				h.pods.forget(cache.MetaObjectToName(before))
				h.memory.forget(cache.MetaObjectToName(before))
			}
			h.shown(website)
			// This comes before the reconciliation, because the pods need not wait for it.
			h.recordChange(website)
			h.pods.want(website)
			h.queue.EnqueueAs(cache.MetaObjectToName(website), queue.ChangedIf(isChange))
			if before.UID != website.UID {
				h.pods.probeAll(website)
			}
			if isChange || !apiequality.Semantic.DeepEqual(before.OwnerReferences, website.OwnerReferences) ||
				!maps.Equal(before.Labels, website.Labels) {
				// It is, or was, a preview.
				h.enqueueOwner(before, queue.Changed)
				h.enqueueOwner(website, queue.Changed)
			}
			if before.UID != website.UID || !slices.Equal(before.Spec.Hosts, website.Spec.Hosts) ||
				!before.DeletionTimestamp.Equal(website.DeletionTimestamp) {
				h.routes.EnqueueRivals(before, website)
			}
			if !website.DeletionTimestamp.IsZero() {
				h.enqueueClaimants(website.Namespace, resources.DeploymentName(website))
			}
		},
		DeleteFunc: func(obj any) {
			website, ok := objectOf[*v1beta1.Website](obj)
			if !ok {
				return
			}
			h.queue.Enqueue(cache.MetaObjectToName(website))
			h.enqueueOwner(website, queue.Changed)
			h.pods.probeAll(website)
			h.routes.EnqueueRivals(website, nil)
			h.enqueueClaimants(website.Namespace, resources.DeploymentName(website))
		},
	}
}

// recordChange records the change of a Website. Changes under another leader are in its status.
func (h *eventHandlers) recordChange(website *v1beta1.Website) {
	if h.queue.Running.Load() {
		h.memory.observe(website)
	}
}

// childHandler queues the owner of a changed child, and the other Websites that claim its name when
// it is deleted or gets another owner. deploymentName turns the name of the child into the name that
// Websites claim.
func (h *eventHandlers) childHandler(deploymentName func(name string) (string, bool)) cache.ResourceEventHandler {
	enqueueClaimants := func(child metav1.ObjectMetaAccessor) {
		object := child.GetObjectMeta()
		if name, ok := deploymentName(object.GetName()); ok {
			h.enqueueClaimants(object.GetNamespace(), name)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if child, ok := objectOf[metav1.ObjectMetaAccessor](obj); ok {
				h.shown(child)
				h.enqueueOwner(child, queue.Background)
			}
		},
		UpdateFunc: func(previous, obj any) {
			before, wasChild := previous.(metav1.ObjectMetaAccessor)
			child, isChild := obj.(metav1.ObjectMetaAccessor)
			if !wasChild || !isChild {
				return
			}
			h.shown(child)
			old, current := before.GetObjectMeta(), child.GetObjectMeta()
			p := queue.ChangedIf(old.GetGeneration() != current.GetGeneration()) // It counts changes of the spec.
			if availabilityChanged(before, child) {
				p = queue.Available
			}
			h.enqueueOwner(child, p)
			_, oldOwner, _ := cached.OwnerOf(old)
			if _, owner, _ := cached.OwnerOf(current); owner != oldOwner {
				h.enqueueOwner(before, queue.Changed)
				enqueueClaimants(child)
			}
		},
		DeleteFunc: func(obj any) {
			if child, ok := objectOf[metav1.ObjectMetaAccessor](obj); ok {
				h.enqueueOwner(child, queue.Changed)
				enqueueClaimants(child)
			}
		},
	}
}

// agentKeysHandler queues the name of a changed ConfigMap with the public keys for agents. It is no
// name of a Website, or of one that is reconciled once more.
func (h *eventHandlers) agentKeysHandler() cache.ResourceEventHandler {
	enqueue := func(obj any) {
		if object, ok := objectOf[*cached.ConfigMap](obj); ok && object.Name == resources.AgentKeysConfigMapName {
			h.shown(object)
			h.queue.Enqueue(cache.NewObjectName(object.Namespace, object.Name))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, obj any) { enqueue(obj) },
		DeleteFunc: enqueue,
	}
}

// replicaSetHandler queues the Website of a deleted ReplicaSet: its configuration may be unused now.
func (h *eventHandlers) replicaSetHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		if replicaSet, ok := objectOf[*cached.ReplicaSet](obj); ok {
			h.queue.Enqueue(replicaSet.Website)
		}
	}}
}

// enqueueOwner queues the Website that controls a child. The UID distinguishes it from a later
// Website of the same name, which does not control this child.
func (h *eventHandlers) enqueueOwner(child metav1.ObjectMetaAccessor, p queue.Priority) {
	key, uid, ok := cached.OwnerOf(child.GetObjectMeta())
	if !ok {
		return
	}
	website, err := h.websiteLister.Websites(key.Namespace).Get(key.Name)
	if err != nil || website.UID != uid {
		return
	}
	h.queue.EnqueueAs(key, p)
}

// availabilityChanged reports whether a Deployment has changed in a way that can change the
// conditions Ready or Available of its Website.
func availabilityChanged(before, after any) bool {
	old, wasDeployment := before.(*cached.Deployment)
	deployment, isDeployment := after.(*cached.Deployment)
	return wasDeployment && isDeployment && workload.AvailabilityOf(old) != workload.AvailabilityOf(deployment)
}

// enqueueClaimants queues the Websites that claim a deployment name.
func (h *eventHandlers) enqueueClaimants(namespace, deploymentName string) {
	for _, website := range claimants(h.websiteIndex, namespace, deploymentName) {
		h.queue.Enqueue(cache.MetaObjectToName(website))
	}
}

// objectOf returns the object of an event, or of the tombstone of a missed deletion.
func objectOf[T any](obj any) (T, bool) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	object, ok := obj.(T)
	return object, ok
}

// podHandler queues the Website of a pod with a relevant change, and probes the pod.
func (h *eventHandlers) podHandler() cache.ResourceEventHandler {
	changed := func(obj any) {
		if pod, ok := obj.(*cached.Pod); ok {
			h.queue.Enqueue(pod.Website)
			h.pods.probe(pod)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: changed,
		UpdateFunc: func(previous, obj any) {
			before, ok := previous.(*cached.Pod)
			after, isPod := obj.(*cached.Pod)
			if !ok || !isPod {
				return
			}
			same := *after
			same.ResourceVersion = before.ResourceVersion
			if apiequality.Semantic.DeepEqual(*before, same) {
				return
			}
			if before.Website != after.Website {
				h.queue.Enqueue(before.Website)
			}
			changed(obj)
		},
		DeleteFunc: func(obj any) {
			if pod, ok := objectOf[*cached.Pod](obj); ok {
				h.queue.Enqueue(pod.Website)
				if h.pods.prober != nil {
					h.pods.prober.Forget(pod.UID)
				}
			}
		},
	}
}
