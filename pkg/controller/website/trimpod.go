package website

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/lru"

	"github.com/kubesites/website-apiserver/pkg/controller/website/children"
)

// keptPodConditions are those of a pod that runs.
const keptPodConditions = 3

// trimPod keeps of a pod what is read here: there are many, and most of each is
// the same.
func trimPod(pod *corev1.Pod) {
	pod.ManagedFields, pod.Annotations, pod.Finalizers = nil, nil, nil
	pod.GenerateName = ""
	children.Intern(&pod.Namespace)
	pod.Labels = children.InternKeys(pod.Labels)
	for i := range pod.OwnerReferences {
		children.InternOwner(&pod.OwnerReferences[i])
	}
	pod.Spec = corev1.PodSpec{Containers: portsOf(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers))}
	status := corev1.PodStatus{
		Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message,
		PodIP: pod.Status.PodIP, HostIP: pod.Status.HostIP, StartTime: pod.Status.StartTime,
	}
	status.Conditions = make([]corev1.PodCondition, 0, keptPodConditions)
	for _, condition := range pod.Status.Conditions {
		children.Intern(&condition.Type)
		children.Intern(&condition.Status)
		switch condition.Type {
		case corev1.PodReady, corev1.PodScheduled, corev1.PodReadyToStartContainers:
			// When it was last probed changes all the time and says nothing.
			status.Conditions = append(status.Conditions, corev1.PodCondition{
				Type: condition.Type, Status: condition.Status, Reason: condition.Reason,
				Message: condition.Message, LastTransitionTime: condition.LastTransitionTime,
			})
		}
	}
	// What a container does that runs is not read.
	strip := func(containers []corev1.ContainerStatus) []corev1.ContainerStatus {
		var kept []corev1.ContainerStatus
		for _, container := range containers {
			if container.State.Waiting != nil || container.State.Terminated != nil {
				kept = append(kept, corev1.ContainerStatus{
					Name: container.Name, Image: container.Image, State: container.State, LastTerminationState: container.LastTerminationState,
				})
			}
		}
		return kept
	}
	status.InitContainerStatuses = strip(pod.Status.InitContainerStatuses)
	status.ContainerStatuses = strip(pod.Status.ContainerStatuses)
	pod.Status = status
}

// sharedPorts are the containers that portsOf has returned last.
var sharedPorts = lru.New(100)

// portsOf returns one container with the names of the ports of several, which Services lead to. Most
// pods have the same: what is in the caches is not changed.
func portsOf(containers []corev1.Container) []corev1.Container {
	var ports []corev1.ContainerPort
	var key strings.Builder
	for _, container := range containers {
		for _, port := range container.Ports {
			ports = append(ports, corev1.ContainerPort{Name: port.Name})
			key.WriteString(port.Name + ",")
		}
	}
	if len(ports) == 0 {
		return nil
	}
	if cached, known := sharedPorts.Get(key.String()); known {
		if shared, ok := cached.([]corev1.Container); ok {
			return shared
		}
	}
	container := []corev1.Container{{Ports: ports}}
	sharedPorts.Add(key.String(), container)
	return container
}
