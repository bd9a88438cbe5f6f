package workload

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// IsReady reports whether a pod is behind the Service.
func IsReady(pod *cached.Pod) bool {
	ready := PodCondition(pod, corev1.PodReady)
	return !pod.IsTerminating && ready != nil && ready.Status == corev1.ConditionTrue
}

// CanAnswer reports whether a container of a pod could answer a probe.
func CanAnswer(pod *cached.Pod) bool {
	return pod.PodIP != "" && pod.Phase == corev1.PodRunning && !pod.IsTerminating
}

// HasEnded reports whether no container of a pod runs or will run again.
func HasEnded(pod *cached.Pod) bool { return cached.HasEnded(pod.Phase) }

// EndTime returns the time at which a pod ended, its last transition.
func EndTime(pod *cached.Pod) time.Time {
	var end time.Time
	for _, condition := range pod.Conditions {
		if changed := condition.LastTransitionTime.Time; changed.After(end) {
			end = changed
		}
	}
	return end
}

// VolumeWasFull reports whether the agent of a pod that has ended found its volume full.
func VolumeWasFull(pod *cached.Pod) bool {
	return slices.ContainsFunc(pod.Containers, func(container corev1.ContainerStatus) bool {
		ended := container.State.Terminated
		return container.Name == resources.GitSyncContainer && ended != nil && ended.Message == string(git.ReasonStorageFull)
	})
}

// PodCondition returns a condition of a pod, or nil.
func PodCondition(pod *cached.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Conditions {
		if pod.Conditions[i].Type == kind {
			return &pod.Conditions[i]
		}
	}
	return nil
}

// HasPort reports whether requests to a target port of a Service can reach a pod. A numeric port need
// not be declared by a container.
func HasPort(pod *cached.Pod, target intstr.IntOrString) bool {
	return target.Type == intstr.Int || slices.Contains(strings.Split(pod.Ports, ","), target.StrVal)
}
