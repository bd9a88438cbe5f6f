package website

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// probeWorkers is how many pods are probed at once.
const probeWorkers = 20

// podsOf returns the pods of a Website and what was observed of them, in the order
// of their names.
func (c *Controller) podsOf(website *v1beta1.Website) []status.Pod {
	var pods []status.Pod
	for _, pod := range c.podsLabelled(website) {
		if !workload.BelongsTo(pod, resources.DeploymentName(website)) {
			continue
		}
		known := status.Pod{Pod: pod, Ready: workload.IsReady(pod)}
		if c.prober != nil {
			known.Observation, known.Observed = c.prober.Observation(pod.UID)
		}
		pods = append(pods, known)
	}
	slices.SortFunc(pods, func(a, b status.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// podsLabelled returns the pods whose labels name a Website.
func (c *Controller) podsLabelled(website metav1.Object) []*corev1.Pod {
	indexed, err := c.podIndex.ByIndex(byWebsite, cache.MetaObjectToName(website).String())
	if err != nil {
		return nil // Only an index that does not exist is an error, and New made it.
	}
	var pods []*corev1.Pod
	for _, obj := range indexed {
		if pod, ok := obj.(*corev1.Pod); ok {
			pods = append(pods, pod)
		}
	}
	return pods
}

// probe has a pod probed if it is one of a Website that exists. That its labels
// name one is no proof.
func (c *Controller) probe(pod *corev1.Pod) {
	if c.prober == nil || !c.running.Load() {
		return
	}
	key := workload.WebsiteOf(pod)
	website, err := c.websiteLister.Websites(key.Namespace).Get(key.Name)
	if err == nil && workload.BelongsTo(pod, resources.DeploymentName(website)) {
		c.prober.Probe(key, pod)
	} else {
		c.prober.Forget(pod.UID)
	}
}

// probePods has the pods probed that are there before their Website, such as those
// of one that was deleted without them, and ends that when it is deleted.
func (c *Controller) probePods(website metav1.Object) {
	if c.prober == nil {
		return
	}
	for _, pod := range c.podsLabelled(website) {
		c.probe(pod)
	}
}

// runProber probes pods until the context ends, and queues the Websites of those
// of which something else is known than before.
func (c *Controller) runProber(ctx context.Context) {
	for _, obj := range c.podIndex.List() {
		if pod, ok := obj.(*corev1.Pod); ok {
			c.probe(pod)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.prober.Run(ctx, probeWorkers)
	}()
	for {
		select {
		case key := <-c.prober.Changes():
			c.enqueue(key)
		case <-done:
			return
		}
	}
}
