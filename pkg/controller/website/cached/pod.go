package cached

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// keptPodLabels are the labels by which Services and Deployments of the controller select pods, and
// the label that a Deployment adds for each revision.
var keptPodLabels = append(slices.Clone(resources.PodSelectorKeys), appsv1.DefaultDeploymentUniqueLabelKey)

// Pod is the cached form of a pod: there are many, and most of their fields are the same. Any client can give pods of
// any size the label of the controller.
type Pod struct {
	Identity
	CreationTimestamp metav1.Time
	// IsTerminating is true for a pod with a deletion timestamp.
	IsTerminating bool
	// Website is the Website in the labels. It proves nothing, see Deployment.
	Website cache.ObjectName
	// Deployment is the name of the Deployment that controls the pod by a ReplicaSet. Template is the pod template hash
	// in the name of the ReplicaSet and in the labels. Both are empty for a pod of another workload with the same labels.
	Deployment, Template string
	// Labels are those of keptPodLabels.
	Labels Labels
	// Ports are the names of the ports of containers, which are targets of Services, separated by commas.
	Ports         string
	Phase         corev1.PodPhase
	Message       string
	PodIP, HostIP string
	// Conditions have the reason why a pod does not run, or the time of its end, and the readiness of a running pod.
	Conditions []corev1.PodCondition
	// Containers are those that wait and, of a pod that has ended, those that have ended, init containers first.
	Containers []corev1.ContainerStatus
}

// OfPod returns the cached form of a pod.
func OfPod(pod *corev1.Pod) *Pod {
	deployment, template := deploymentOf(pod)
	return &Pod{
		Identity: identityOf(pod), CreationTimestamp: pod.CreationTimestamp,
		IsTerminating: !pod.DeletionTimestamp.IsZero(),
		Website:       cache.NewObjectName(interned(pod.Namespace), pod.Labels[resources.LabelController]),
		Deployment:    deployment, Template: template, Labels: LabelsOf(pickLabels(pod.Labels, keptPodLabels...)),
		Ports: interned(strings.Join(portsOf(pod), ",")),
		Phase: interned(pod.Status.Phase), Message: problem.Shorten(pod.Status.Message),
		PodIP: pod.Status.PodIP, HostIP: interned(pod.Status.HostIP),
		Conditions: trimPodConditions(pod),
		Containers: append(trimContainerStatuses(pod, pod.Status.InitContainerStatuses),
			trimContainerStatuses(pod, pod.Status.ContainerStatuses)...),
	}
}

// HasEnded reports whether no container of a pod in this phase runs or will run again: the kubelet has evicted it, or
// its node is gone.
func HasEnded(phase corev1.PodPhase) bool {
	return phase == corev1.PodFailed || phase == corev1.PodSucceeded
}

// deploymentOf returns the Deployment of a pod and the hash of its pod template. The name of a ReplicaSet consists of
// both, and its pods carry the hash as a label.
func deploymentOf(pod *corev1.Pod) (deployment, template string) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "ReplicaSet" || len(owner.Name) > maxOwner {
		return "", ""
	}
	if gv, err := schema.ParseGroupVersion(owner.APIVersion); err != nil || gv.Group != appsv1.GroupName {
		return "", ""
	}
	hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	deployment, found := strings.CutSuffix(owner.Name, "-"+hash)
	if !found || hash == "" {
		return "", ""
	}
	return deployment, owner.Name[len(deployment)+1:]
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
		// The time of the last probe changes all the time and is not needed.
		conditions = append(conditions, corev1.PodCondition{
			Type: interned(condition.Type), Status: interned(condition.Status), Reason: condition.Reason,
			Message: problem.Shorten(condition.Message), LastTransitionTime: condition.LastTransitionTime,
		})
	}
	return conditions
}

// trimContainerStatuses keeps the containers that wait and, of a pod that has ended, those that have ended.
func trimContainerStatuses(pod *corev1.Pod, containers []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, container := range FirstOf(containers) {
		if container.State.Waiting != nil || HasEnded(pod.Status.Phase) && container.State.Terminated != nil {
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

// portsOf returns the names of the ports of all containers.
func portsOf(pod *corev1.Pod) []string {
	var names []string
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, port := range FirstOf(container.Ports) {
			names = append(names, port.Name)
		}
	}
	return FirstOf(names)
}
