package website

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/observer"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// byWebsite indexes pods by the Website that their labels name.
const byWebsite = "namespace/website"

// observedPod is a pod and what it said.
type observedPod struct {
	*corev1.Pod
	observer.Observation
	// observed is false while the pod has said nothing.
	observed bool
	ready    bool
}

// stripPod keeps of a pod what is read here: there are many, and most of each is
// the same.
func stripPod(pod *corev1.Pod) {
	pod.ManagedFields, pod.Annotations, pod.Finalizers = nil, nil, nil
	pod.Spec = corev1.PodSpec{}
	status := corev1.PodStatus{
		Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message,
		PodIP: pod.Status.PodIP, HostIP: pod.Status.HostIP, StartTime: pod.Status.StartTime,
	}
	for _, condition := range pod.Status.Conditions {
		switch condition.Type {
		case corev1.PodReady, corev1.PodScheduled, corev1.PodReadyToStartContainers:
			// When it was last probed changes all the time and says nothing.
			status.Conditions = append(status.Conditions, corev1.PodCondition{
				Type: condition.Type, Status: condition.Status, Reason: condition.Reason,
				Message: condition.Message, LastTransitionTime: condition.LastTransitionTime,
			})
		}
	}
	strip := func(containers []corev1.ContainerStatus) []corev1.ContainerStatus {
		var kept []corev1.ContainerStatus
		for _, container := range containers {
			kept = append(kept, corev1.ContainerStatus{
				Name: container.Name, Image: container.Image, Ready: container.Ready, Started: container.Started,
				State: container.State, LastTerminationState: container.LastTerminationState,
			})
		}
		return kept
	}
	status.InitContainerStatuses = strip(pod.Status.InitContainerStatuses)
	status.ContainerStatuses = strip(pod.Status.ContainerStatuses)
	pod.Status = status
}

// observedPods returns the pods of a Website, in the order of their names.
func (c *Controller) observedPods(site *v1beta1.Website) []observedPod {
	var pods []observedPod
	for _, pod := range c.podsOf(site.Namespace, site.Name) {
		if !resources.IsOwn(pod, resources.DeploymentName(site)) {
			continue
		}
		observed := observedPod{Pod: pod, ready: isReady(pod)}
		if c.observer != nil {
			observed.Observation, observed.observed = c.observer.Of(pod.UID)
		}
		pods = append(pods, observed)
	}
	slices.SortFunc(pods, func(a, b observedPod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

func (c *Controller) podsOf(namespace, website string) []*corev1.Pod {
	indexed, err := c.podIndex.ByIndex(byWebsite, cache.NewObjectName(namespace, website).String())
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

// isOfWebsite reports whether a pod is one of a Website that exists. That its
// labels name one is no proof.
func (c *Controller) isOfWebsite(pod *corev1.Pod) bool {
	key := websiteOfPod(pod)
	site, err := c.siteLister.Websites(key.Namespace).Get(key.Name)
	return err == nil && resources.IsOwn(pod, resources.DeploymentName(site))
}

// pollPods has the pods asked that are there before their Website: those of one
// that was deleted without them.
func (c *Controller) pollPods(site metav1.Object) {
	if c.observer == nil || !c.running.Load() {
		return
	}
	for _, pod := range c.podsOf(site.GetNamespace(), site.GetName()) {
		c.observer.Poll(pod)
	}
}

// isReady reports whether a pod is behind the Service.
func isReady(pod *corev1.Pod) bool {
	ready := podCondition(pod, corev1.PodReady)
	return pod.DeletionTimestamp.IsZero() && ready != nil && ready.Status == corev1.ConditionTrue
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// podHandler queues the Website of a pod in which something changed that is
// read here, and has the pod asked what it serves.
func (c *Controller) podHandler() cache.ResourceEventHandler {
	changed := func(obj any) {
		if pod, ok := obj.(*corev1.Pod); ok {
			c.enqueue(websiteOfPod(pod))
			if c.observer != nil && c.running.Load() {
				c.observer.Poll(pod)
			}
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
			if websiteOfPod(before) != websiteOfPod(after) {
				c.enqueue(websiteOfPod(before))
			}
			changed(obj)
		},
		DeleteFunc: func(obj any) {
			object, ok := withoutTombstone(obj)
			if !ok {
				return
			}
			if pod, ok := object.(*corev1.Pod); ok {
				c.enqueue(websiteOfPod(pod))
				if c.observer != nil {
					c.observer.Forget(pod.UID)
				}
			}
		},
	}
}

// sameOwner reports whether a pod belongs to whom it belonged to. One that is
// given other labels is let go by its ReplicaSet, and one without a controller is
// taken in by whose labels it has.
func sameOwner(before, after *corev1.Pod) bool {
	return maps.Equal(before.Labels, after.Labels) &&
		apiequality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
}

func websiteOfPod(pod *corev1.Pod) cache.ObjectName {
	return cache.NewObjectName(pod.Namespace, resources.WebsiteOfLabels(pod.Labels))
}
