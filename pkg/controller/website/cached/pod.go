package cached

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"

	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// keptPodLabels are the labels by which Services and Deployments of the controller select pods, and
// the label that a Deployment adds for each revision.
var keptPodLabels = append(slices.Clone(resources.PodSelectorKeys), appsv1.DefaultDeploymentUniqueLabelKey)

// TrimPod keeps the required fields of a pod: there are many pods, and most fields are the same. Any
// client can give pods of any size the label of the controller.
func TrimPod(pod *corev1.Pod) {
	Intern(&pod.Namespace)
	Intern(&pod.Status.Phase)
	Intern(&pod.Status.HostIP)
	pod.ObjectMeta = metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
		Labels: pickLabels(pod.Labels, keptPodLabels...), OwnerReferences: TrimOwners(pod.OwnerReferences),
	}
	pod.Spec = corev1.PodSpec{Containers: portsOf(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers))}
	pod.Status = corev1.PodStatus{
		Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: problem.Shorten(pod.Status.Message),
		PodIP: pod.Status.PodIP, HostIP: pod.Status.HostIP, Conditions: trimPodConditions(pod),
		InitContainerStatuses: trimContainerStatuses(pod.Status.InitContainerStatuses),
		ContainerStatuses:     trimContainerStatuses(pod.Status.ContainerStatuses),
	}
}

// trimPodConditions keeps the conditions with the reason why a pod does not run, or the time of its
// end, and the readiness of a running pod.
func trimPodConditions(pod *corev1.Pod) []corev1.PodCondition {
	kept := []corev1.PodConditionType{corev1.PodReady}
	if pod.Status.Phase != corev1.PodRunning {
		kept = append(kept, corev1.PodScheduled, corev1.PodReadyToStartContainers)
	}
	var conditions []corev1.PodCondition
	for _, condition := range pod.Status.Conditions {
		if !slices.Contains(kept, condition.Type) {
			continue
		}
		Intern(&condition.Type)
		Intern(&condition.Status)
		// The time of the last probe changes all the time and is not needed.
		conditions = append(conditions, corev1.PodCondition{
			Type: condition.Type, Status: condition.Status, Reason: condition.Reason,
			Message: problem.Shorten(condition.Message), LastTransitionTime: condition.LastTransitionTime,
		})
	}
	return conditions
}

// trimContainerStatuses drops the state of running containers, which is not needed.
func trimContainerStatuses(containers []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, container := range FirstOf(containers) {
		if container.State.Waiting != nil || container.State.Terminated != nil {
			kept = append(kept, corev1.ContainerStatus{
				Name: container.Name, Image: problem.Shorten(container.Image),
				State: shortened(container.State), LastTerminationState: shortened(container.LastTerminationState),
			})
		}
	}
	return kept
}

// shortened truncates the messages of a state to their reported length: the kubelet repeats the name
// of an image in them, which can be as long as a pod.
func shortened(state corev1.ContainerState) corev1.ContainerState {
	if state.Waiting != nil {
		state.Waiting.Message = problem.Shorten(state.Waiting.Message)
	}
	if state.Terminated != nil {
		state.Terminated.Message = problem.Shorten(state.Terminated.Message)
	}
	return state
}

// sharedPorts are the last results of portsOf.
var sharedPorts = lru.New(100)

// portsOf returns one container with the names of the ports of several, which are targets of
// Services. Most pods share the result: objects in the caches are not changed.
func portsOf(containers []corev1.Container) []corev1.Container {
	var names []string
	for _, container := range containers {
		for _, port := range FirstOf(container.Ports) {
			names = append(names, port.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	names = FirstOf(names)
	key := strings.Join(names, ",")
	if shared, known := sharedPorts.Get(key); known {
		return shared.([]corev1.Container)
	}
	container := make([]corev1.Container, 1)
	for _, name := range names {
		container[0].Ports = append(container[0].Ports, corev1.ContainerPort{Name: name})
	}
	sharedPorts.Add(key, container)
	return container
}
