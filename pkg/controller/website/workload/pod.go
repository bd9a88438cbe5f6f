package workload

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// WebsiteOf returns the Website in the labels of a pod or ReplicaSet. The labels prove nothing: see
// BelongsTo.
func WebsiteOf(object metav1.Object) cache.ObjectName {
	return cache.NewObjectName(object.GetNamespace(), object.GetLabels()[resources.LabelController])
}

// BelongsTo reports whether a pod belongs to a Deployment of this name rather than to another
// workload with the same labels. It checks the name of its ReplicaSet, which consists of the name of
// the Deployment and a hash that the pod carries as a label.
func BelongsTo(pod *corev1.Pod, deploymentName string) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "ReplicaSet" {
		return false
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == appsv1.GroupName &&
		owner.Name == deploymentName+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}

// IsReady reports whether a pod is behind the Service.
func IsReady(pod *corev1.Pod) bool {
	ready := PodCondition(pod, corev1.PodReady)
	return pod.DeletionTimestamp.IsZero() && ready != nil && ready.Status == corev1.ConditionTrue
}

// CanAnswer reports whether a container of a pod could answer a probe.
func CanAnswer(pod *corev1.Pod) bool {
	return pod.Status.PodIP != "" && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp.IsZero()
}

// HasEnded reports whether no container of a pod runs or will run again: the kubelet has evicted it,
// or its node is gone.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// EndTime returns the time at which a pod ended, its last transition.
func EndTime(pod *corev1.Pod) time.Time {
	var end time.Time
	for _, condition := range pod.Status.Conditions {
		if changed := condition.LastTransitionTime.Time; changed.After(end) {
			end = changed
		}
	}
	return end
}

// VolumeWasFull reports whether the agent of a pod that has ended found its volume full.
func VolumeWasFull(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.InitContainerStatuses, func(container corev1.ContainerStatus) bool {
		ended := container.State.Terminated
		return container.Name == resources.GitSyncContainer && ended != nil && ended.Message == string(git.ReasonStorageFull)
	})
}

// PodCondition returns a condition of a pod, or nil.
func PodCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// HasPort reports whether requests to a target port of a Service can reach a pod. A numeric port need
// not be declared by a container.
func HasPort(pod *corev1.Pod, target intstr.IntOrString) bool {
	if target.Type == intstr.Int {
		return true
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if slices.ContainsFunc(container.Ports, func(port corev1.ContainerPort) bool { return port.Name == target.StrVal }) {
			return true
		}
	}
	return false
}
