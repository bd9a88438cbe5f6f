package website

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/observer"
)

// startGrace is how long a pod may wait for its volumes and its network.
const startGrace = 30 * time.Second

// replacementDelay is how far from the end of a pod the one that takes its place
// is created at most.
const replacementDelay = time.Minute

// causeOfPods returns why pods do not serve, judged by the first pod in whose
// status it can be read. It names no pod: with every restart that would be news.
func causeOfPods(site *v1beta1.Website, pods []observedPod, now time.Time) *cause {
	var waiting, ended []observedPod
	for _, pod := range pods {
		switch {
		case observer.HasEnded(pod.Pod):
			ended = append(ended, pod)
		case !pod.ready && pod.DeletionTimestamp.IsZero():
			waiting = append(waiting, pod)
		}
	}
	for _, pod := range waiting {
		if found := causeOfPod(site, pod, now); found != nil {
			return found
		}
	}
	for _, pod := range ended {
		if found := causeOfEnd(pod); found != nil && isReplacedBy(pod, waiting) {
			return found
		}
	}
	return nil
}

// isReplacedBy reports whether what ended a pod is why others are not ready yet:
// one took its place, or none has so far. A pod that has ended stays until it is
// collected, and most are of the past.
func isReplacedBy(ended observedPod, waiting []observedPod) bool {
	return len(waiting) == 0 || slices.ContainsFunc(waiting, func(pod observedPod) bool {
		return pod.CreationTimestamp.Sub(observer.End(ended.Pod)).Abs() < replacementDelay
	})
}

func causeOfPod(site *v1beta1.Website, pod observedPod, now time.Time) *cause {
	if scheduled := podCondition(pod.Pod, corev1.PodScheduled); scheduled != nil &&
		scheduled.Status == corev1.ConditionFalse && scheduled.Reason == corev1.PodReasonUnschedulable {
		return &cause{v1beta1.WebsiteReasonUnschedulable, "no node takes a pod: " + shorten(scheduled.Message)}
	}
	for _, containers := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range containers {
			if found := causeOfContainer(&containers[i]); found != nil {
				if failure := causeOfFailure(site, pod.Failure); failure != nil && found.reason == v1beta1.WebsiteReasonContainerFailing {
					return failure
				}
				return found
			}
		}
	}
	if pod.PathNotFound {
		return pathNotFound(site)
	}
	if found := causeOfFailure(site, pod.Failure); found != nil {
		return found
	}
	if waitsToStart(pod.Pod) && now.Sub(pod.CreationTimestamp.Time) >= startGrace {
		return notStarting(site)
	}
	return nil
}

// causeOfEnd returns why a pod was ended. Where the kubelet says it depends on how
// the containers took it; see observer.Observation.
func causeOfEnd(pod observedPod) *cause {
	why := cmp.Or(pod.Eviction, pod.Status.Message)
	if !strings.Contains(why, "EmptyDir volume") {
		return nil
	}
	return &cause{v1beta1.WebsiteReasonRepositoryTooLarge, "the repository does not fit into the volume of a pod: " + shorten(why)}
}

// waitsToStart reports whether the kubelet of a pod's node has not brought up
// its volumes and its network.
func waitsToStart(pod *corev1.Pod) bool {
	scheduled, started := podCondition(pod, corev1.PodScheduled), podCondition(pod, corev1.PodReadyToStartContainers)
	return pod.Status.Phase == corev1.PodPending && scheduled != nil && scheduled.Status == corev1.ConditionTrue &&
		started != nil && started.Status == corev1.ConditionFalse
}

func notStarting(site *v1beta1.Website) *cause {
	message := "a pod waits for its volumes or its network; \"kubectl describe pods\" shows for what"
	if secret := site.Spec.Source.SecretRef; secret != nil {
		message = fmt.Sprintf("a pod waits for its volumes or its network; check that there is a Secret %q with the keys that the repository's protocol takes", secret.Name)
	}
	return &cause{v1beta1.WebsiteReasonPodNotStarting, message}
}

// causeOfContainer reads why a container does not run. The reasons are those of
// the kubelet.
func causeOfContainer(container *corev1.ContainerStatus) *cause {
	waiting := container.State.Waiting
	if waiting == nil {
		return nil
	}
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable":
		return &cause{v1beta1.WebsiteReasonImageUnavailable,
			fmt.Sprintf("the image %q of container %q cannot be pulled; check the flags --nginx-image and --git-sync-image of website-controller, and that the nodes reach the registry", container.Image, container.Name)}
	case "CreateContainerConfigError":
		return &cause{v1beta1.WebsiteReasonContainerConfigError,
			fmt.Sprintf("container %q cannot be made: %s", container.Name, shorten(cmp.Or(waiting.Message, "its configuration is incomplete")))}
	case "CrashLoopBackOff", "RunContainerError", "CreateContainerError":
		message := fmt.Sprintf("container %q ends again and again", container.Name)
		if last := container.LastTerminationState.Terminated; last != nil {
			message += fmt.Sprintf(", last with exit code %d (%s)", last.ExitCode, last.Reason)
		}
		return &cause{v1beta1.WebsiteReasonContainerFailing, message + "; \"kubectl logs\" shows why"}
	default:
		return nil
	}
}

// causeOfFailure turns what is known about fetching into a cause. It never
// repeats what a program has printed.
func causeOfFailure(site *v1beta1.Website, failure observer.Failure) *cause {
	switch failure {
	case observer.FailureNone:
		return nil
	case observer.FailureUnreachable:
		return &cause{v1beta1.WebsiteReasonRepositoryUnreachable, "the host of spec.source.repository cannot be reached from the pods, or does not answer as a git server; check its name, the network and its certificate"}
	case observer.FailureNotFound:
		return &cause{v1beta1.WebsiteReasonRepositoryNotFound, "the host of spec.source.repository has no such repository, or hides it from these credentials"}
	case observer.FailureAuthentication:
		if site.Spec.Source.SecretRef == nil {
			return &cause{v1beta1.WebsiteReasonAuthenticationFailed, "the repository asks for credentials, or does not exist; name a Secret in spec.source.secretRef"}
		}
		return &cause{v1beta1.WebsiteReasonAuthenticationFailed, fmt.Sprintf("the repository refuses the credentials in Secret %q", site.Spec.Source.SecretRef.Name)}
	case observer.FailureRefNotFound:
		return &cause{v1beta1.WebsiteReasonRefNotFound, "the repository has nothing that spec.source.ref names, or is empty"}
	case observer.FailureStorage:
		return &cause{v1beta1.WebsiteReasonRepositoryTooLarge, "the volume of a pod is full: the repository does not fit"}
	default:
		return &cause{v1beta1.WebsiteReasonSyncFailing, fmt.Sprintf("fetching the repository fails; \"kubectl logs --selector controller=%s --container git-sync\" shows why", site.Name)}
	}
}

func pathNotFound(site *v1beta1.Website) *cause {
	return &cause{v1beta1.WebsiteReasonPathNotFound, fmt.Sprintf("the commit has no directory %q, which spec.source.path names", site.Spec.Source.Path)}
}

// quotaLimit finds the parts of a quota's refusal that stay the same while the
// usage changes.
var quotaLimit = regexp.MustCompile(`exceeded quota: ([^,]+),.*(limited: .*)$`)

// forbiddenObject is how the message of a refused pod begins. The name of the
// pod is another one each time.
var forbiddenObject = regexp.MustCompile(`^.*?pods "[^"]*" is forbidden: `)

// causeOfDeployment reads from the conditions of a Deployment why it has no
// pods.
func causeOfDeployment(deployment *appsv1.Deployment) *cause {
	failure := deploymentCondition(deployment, appsv1.DeploymentReplicaFailure)
	if failure == nil || failure.Status != corev1.ConditionTrue {
		return nil
	}
	message := forbiddenObject.ReplaceAllString(failure.Message, "")
	if strings.Contains(failure.Message, "is forbidden") {
		reason := reasonOfRefusal(failure.Message)
		if limit := quotaLimit.FindStringSubmatch(message); limit != nil {
			message = fmt.Sprintf("quota %q leaves no room for the pods, %s", limit[1], limit[2])
		}
		return &cause{reason, "pods are refused: " + shorten(message)}
	}
	return &cause{v1beta1.WebsiteReasonPodCreationFailed, "pods cannot be created: " + shorten(message)}
}

func deploymentCondition(deployment *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range deployment.Status.Conditions {
		if deployment.Status.Conditions[i].Type == kind {
			return &deployment.Status.Conditions[i]
		}
	}
	return nil
}
