package website

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// websiteHandler queues every Website that changes: in front of others when
// somebody asks for something. One that is deleted is queued too, so that what is
// remembered about it goes with it, together with those that wait for its name.
func (c *Controller) websiteHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if site, ok := withoutTombstone(obj); ok {
				c.enqueueAs(cache.MetaObjectToName(site), !initial)
				c.pollPods(site)
			}
		},
		UpdateFunc: func(previous, obj any) {
			before, wasSite := previous.(*v1beta1.Website)
			site, isSite := obj.(*v1beta1.Website)
			if !wasSite || !isSite {
				return
			}
			asked := before.Generation != site.Generation || before.UID != site.UID ||
				!before.DeletionTimestamp.Equal(site.DeletionTimestamp)
			c.enqueueAs(cache.MetaObjectToName(site), asked)
			if before.UID != site.UID {
				c.pollPods(site)
			}
			if !site.DeletionTimestamp.IsZero() {
				c.enqueueClaimants(site, func(string) (string, bool) { return resources.DeploymentName(site), true })
			}
		},
		DeleteFunc: func(obj any) {
			object, ok := withoutTombstone(obj)
			if !ok {
				return
			}
			c.enqueue(cache.MetaObjectToName(object))
			if site, ok := object.(*v1beta1.Website); ok {
				c.enqueueClaimants(site, func(string) (string, bool) { return resources.DeploymentName(site), true })
			}
		},
	}
}

// childHandler queues the owner of a child that changes, and whoever else
// claims its name when it is deleted or changes hands. deploymentName turns the
// name of the child into the name that Websites claim.
func (c *Controller) childHandler(deploymentName func(name string) (string, bool)) cache.ResourceEventHandler {
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
			// A generation counts changes of the spec: somebody has been there.
			c.enqueueOwner(child, before.GetGeneration() != child.GetGeneration())
			_, oldOwner, _ := websiteOf(before)
			if _, owner, _ := websiteOf(child); owner != oldOwner {
				c.enqueueOwner(before, true)
				c.enqueueClaimants(child, deploymentName)
			}
		},
		DeleteFunc: func(obj any) {
			if child, ok := withoutTombstone(obj); ok {
				c.enqueueOwner(child, true)
				c.enqueueClaimants(child, deploymentName)
			}
		},
	}
}

// enqueueOwner queues the Website that controls a child. The UID tells it from
// a later one of the same name, which has nothing to do with this child.
func (c *Controller) enqueueOwner(child metav1.Object, urgent bool) {
	key, uid, ok := websiteOf(child)
	if !ok {
		return
	}
	site, err := c.siteLister.Websites(key.Namespace).Get(key.Name)
	if err != nil || site.UID != uid {
		return
	}
	c.enqueueAs(key, urgent)
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
		if site, ok := obj.(*v1beta1.Website); ok {
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
