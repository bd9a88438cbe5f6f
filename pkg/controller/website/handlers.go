package website

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1alpha1"
)

// websiteHandler queues every Website that changes. One that is deleted is
// queued too, so that what is remembered about it goes with it.
func (c *Controller) websiteHandler() cache.ResourceEventHandler {
	enqueue := func(obj any) {
		if site, ok := withoutTombstone(obj); ok {
			c.enqueue(cache.MetaObjectToName(site))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, obj any) { enqueue(obj) },
		DeleteFunc: enqueue,
	}
}

// childHandler queues the owner of a child that changes, and whoever else
// claims its name when it is deleted or changes hands. deploymentName turns the
// name of the child into the name that Websites claim.
func (c *Controller) childHandler(deploymentName func(name string) (string, bool)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if child, ok := withoutTombstone(obj); ok {
				c.enqueueOwner(child)
			}
		},
		UpdateFunc: func(previous, obj any) {
			child, ok := withoutTombstone(obj)
			if !ok {
				return
			}
			c.enqueueOwner(child)
			before, ok := withoutTombstone(previous)
			if !ok {
				return
			}
			_, oldOwner, _ := websiteOf(before)
			if _, owner, _ := websiteOf(child); owner != oldOwner {
				c.enqueueOwner(before)
				c.enqueueClaimants(child, deploymentName)
			}
		},
		DeleteFunc: func(obj any) {
			if child, ok := withoutTombstone(obj); ok {
				c.enqueueOwner(child)
				c.enqueueClaimants(child, deploymentName)
			}
		},
	}
}

// enqueueOwner queues the Website that controls a child. The UID tells it from
// a later one of the same name, which has nothing to do with this child.
func (c *Controller) enqueueOwner(child metav1.Object) {
	key, uid, ok := websiteOf(child)
	if !ok {
		return
	}
	site, err := c.siteLister.Websites(key.Namespace).Get(key.Name)
	if err != nil || site.UID != uid {
		return
	}
	c.enqueue(key)
}

// enqueueClaimants queues the Websites that want the name of a child.
func (c *Controller) enqueueClaimants(child metav1.Object, deploymentName func(name string) (string, bool)) {
	name, ok := deploymentName(child.GetName())
	if !ok {
		return
	}
	sites, err := c.siteIndex.ByIndex(byDeploymentName, claimOf(child.GetNamespace(), name))
	if err != nil {
		return // Only an index that does not exist is an error, and New made it.
	}
	for _, obj := range sites {
		if site, ok := obj.(*v1alpha1.Website); ok {
			c.enqueue(cache.MetaObjectToName(site))
		}
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
