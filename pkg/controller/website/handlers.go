package website

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// websiteHandler queues every Website that changes: in front of others when its
// spec does. One that is deleted is queued too, so that what is remembered about it
// goes with it, together with those that wait for its name.
func (c *Controller) websiteHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if website, ok := withoutTombstone(obj); ok {
				c.enqueueAs(cache.MetaObjectToName(website), !initial)
				c.probePods(website)
			}
		},
		UpdateFunc: func(previous, obj any) {
			before, wasWebsite := previous.(*v1beta1.Website)
			website, isWebsite := obj.(*v1beta1.Website)
			if !wasWebsite || !isWebsite {
				return
			}
			urgent := before.Generation != website.Generation || before.UID != website.UID ||
				!before.DeletionTimestamp.Equal(website.DeletionTimestamp)
			c.enqueueAs(cache.MetaObjectToName(website), urgent)
			if before.UID != website.UID {
				c.probePods(website)
			}
			if !website.DeletionTimestamp.IsZero() {
				c.enqueueClaimants(website.Namespace, resources.DeploymentName(website))
			}
		},
		DeleteFunc: func(obj any) {
			object, ok := withoutTombstone(obj)
			if !ok {
				return
			}
			c.enqueue(cache.MetaObjectToName(object))
			c.probePods(object)
			if website, ok := object.(*v1beta1.Website); ok {
				c.enqueueClaimants(website.Namespace, resources.DeploymentName(website))
			}
		},
	}
}

// childHandler queues the owner of a child that changes, and the other Websites
// that claim its name when it is deleted or gets another owner. deploymentName
// turns the name of the child into the name that Websites claim.
func (c *Controller) childHandler(deploymentName func(name string) (string, bool)) cache.ResourceEventHandler {
	enqueueClaimants := func(child metav1.Object) {
		if name, ok := deploymentName(child.GetName()); ok {
			c.enqueueClaimants(child.GetNamespace(), name)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if child, ok := withoutTombstone(obj); ok {
				c.enqueueOwner(child, false)
			}
		},
		UpdateFunc: func(previous, obj any) {
			child, ok := withoutTombstone(obj)
			if !ok {
				return
			}
			before, ok := withoutTombstone(previous)
			if !ok {
				return
			}
			// The generation counts changes of the spec.
			c.enqueueOwner(child, before.GetGeneration() != child.GetGeneration())
			_, oldOwner, _ := children.OwnerOf(before)
			if _, owner, _ := children.OwnerOf(child); owner != oldOwner {
				c.enqueueOwner(before, true)
				enqueueClaimants(child)
			}
		},
		DeleteFunc: func(obj any) {
			if child, ok := withoutTombstone(obj); ok {
				c.enqueueOwner(child, true)
				enqueueClaimants(child)
			}
		},
	}
}

// enqueueOwner queues the Website that controls a child. The UID tells it from
// a later one of the same name, which has nothing to do with this child.
func (c *Controller) enqueueOwner(child metav1.Object, urgent bool) {
	key, uid, ok := children.OwnerOf(child)
	if !ok {
		return
	}
	website, err := c.websiteLister.Websites(key.Namespace).Get(key.Name)
	if err != nil || website.UID != uid {
		return
	}
	c.enqueueAs(key, urgent)
}

// enqueueClaimants queues the Websites that ask for a deployment name.
func (c *Controller) enqueueClaimants(namespace, deploymentName string) {
	for _, website := range c.claimants(namespace, deploymentName) {
		c.enqueue(cache.MetaObjectToName(website))
	}
}

// withoutTombstone returns the object of an event, also when its deletion was
// missed and the informer only knows that it is gone.
func withoutTombstone(obj any) (metav1.Object, bool) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	object, err := meta.Accessor(obj)
	return object, err == nil
}

// podHandler queues the Website of a pod in which something changed that is
// read here, and has the pod probed.
func (c *Controller) podHandler() cache.ResourceEventHandler {
	changed := func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok {
			c.enqueue(workload.WebsiteOf(pod))
			c.probe(pod)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: changed,
		UpdateFunc: func(previous, obj any) {
			before, ok := previous.(*corev1.Pod)
			after, isPod := obj.(*corev1.Pod)
			if !ok || !isPod {
				return
			}
			if apiequality.Semantic.DeepEqual(before.Status, after.Status) && sameOwner(before, after) &&
				before.DeletionTimestamp.Equal(after.DeletionTimestamp) && before.UID == after.UID {
				return
			}
			if workload.WebsiteOf(before) != workload.WebsiteOf(after) {
				c.enqueue(workload.WebsiteOf(before))
			}
			changed(obj)
		},
		DeleteFunc: func(obj any) {
			object, ok := withoutTombstone(obj)
			if !ok {
				return
			}
			if pod, ok := object.(*corev1.Pod); ok {
				c.enqueue(workload.WebsiteOf(pod))
				if c.prober != nil {
					c.prober.Forget(pod.UID)
				}
			}
		},
	}
}

// sameOwner reports whether a pod belongs to the same workload as before. One that
// is given other labels is released by its ReplicaSet, and one without a controller
// is adopted by the ReplicaSet that its labels match.
func sameOwner(before, after *corev1.Pod) bool {
	return maps.Equal(before.Labels, after.Labels) &&
		apiequality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
}
