package cached

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// revisionAnnotation is the number of a pod template from the Deployment controller. A Deployment has
// the number of its current template. A ReplicaSet whose template becomes current again gets another
// number.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// Deployment is the cached form of a Deployment.
type Deployment struct {
	Meta
	Replicas        int32
	Paused          bool
	MinReadySeconds int32
	// Selector is empty if no controller of Websites has ever selected pods so.
	Selector Labels
	// IsFormer is true if the original controller made the pod template: it ran git-sync as an
	// ordinary container, not as a sidecar.
	IsFormer bool
	// NginxConfigMaps are the ConfigMaps that pods of the pod template mount.
	NginxConfigMaps []string
	// Revision is the number of the pod template, and empty until the Deployment controller has observed it.
	Revision string
	// LimitedRollout is true while the pod template is one of LimitedRolloutAnnotation.
	LimitedRollout bool
	Status         DeploymentStatus
}

// DeploymentStatus is the status of a Deployment.
type DeploymentStatus struct {
	ObservedGeneration                                          int64
	Replicas, UpdatedReplicas, ReadyReplicas, AvailableReplicas int32
	// Progressing and ProgressingReason are of the condition Progressing, and empty without one.
	Progressing       corev1.ConditionStatus
	ProgressingReason string
	// ReplicaFailure is the message of the condition ReplicaFailure while it is true.
	ReplicaFailure string
}

// OfDeployment returns the cached form of a Deployment.
func OfDeployment(deployment *appsv1.Deployment) *Deployment {
	pod := &deployment.Spec.Template.Spec
	return &Deployment{
		Meta:            metaOf(deployment, Deployments),
		Replicas:        ptr.Deref(deployment.Spec.Replicas, 1),
		Paused:          deployment.Spec.Paused,
		MinReadySeconds: deployment.Spec.MinReadySeconds,
		Selector:        trimLabelSelector(deployment.Spec.Selector),
		IsFormer:        hasContainer(pod.Containers, resources.GitSyncContainer),
		NginxConfigMaps: FirstOf(MountedConfigMaps(pod)),
		Revision:        note(deployment, revisionAnnotation),
		LimitedRollout:  deployment.Annotations[LimitedRolloutAnnotation] != "",
		Status:          trimDeploymentStatus(&deployment.Status),
	}
}

func trimDeploymentStatus(status *appsv1.DeploymentStatus) DeploymentStatus {
	kept := DeploymentStatus{
		ObservedGeneration: status.ObservedGeneration, Replicas: status.Replicas, UpdatedReplicas: status.UpdatedReplicas,
		ReadyReplicas: status.ReadyReplicas, AvailableReplicas: status.AvailableReplicas,
	}
	for _, condition := range status.Conditions {
		switch {
		case condition.Type == appsv1.DeploymentProgressing:
			kept.Progressing, kept.ProgressingReason = interned(condition.Status), interned(condition.Reason)
		case condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue:
			kept.ReplicaFailure = condition.Message
		}
	}
	return kept
}

func hasContainer(containers []corev1.Container, name string) bool {
	for i := range containers {
		if containers[i].Name == name {
			return true
		}
	}
	return false
}

// MountedConfigMaps returns the ConfigMaps that are volumes of a pod: the nginx configurations.
func MountedConfigMaps(pod *corev1.PodSpec) []string {
	var names []string
	for _, volume := range pod.Volumes {
		if volume.ConfigMap != nil {
			names = append(names, volume.ConfigMap.Name)
		}
	}
	return names
}
