package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// startGrace is how long a pod may wait for its volumes and its network.
const startGrace = 30 * time.Second

// replacementDelay is how far from the end of a pod the one that takes its place
// is created at most.
const replacementDelay = time.Minute

// podProblem finds why there are too few pods, or why they do not serve.
func podProblem(in *Input) *finding {
	if in.Deployment == nil || in.rolledOut() {
		return nil
	}
	if found := podsRefused(in.Deployment); found != nil {
		return found
	}
	if found := in.podsNotServing(); found != nil {
		return found
	}
	return in.stillReported(v1beta1.WebsiteReady, in.anyStartsInSilence())
}

// podsNotServing finds why pods do not serve, judged by the first pod in whose
// status it can be read. It names no pod: with every restart that would be another
// message.
func (in *Input) podsNotServing() *finding {
	var waiting, ended []Pod
	for _, pod := range in.Pods {
		switch {
		case workload.HasEnded(pod.Pod):
			ended = append(ended, pod)
		case !pod.Ready && pod.DeletionTimestamp.IsZero():
			waiting = append(waiting, pod)
		}
	}
	for _, pod := range waiting {
		if found := in.podNotServing(pod); found != nil {
			return found
		}
	}
	for _, pod := range ended {
		if found := podEvicted(pod); found != nil && isReplacedBy(pod, waiting) {
			return found
		}
	}
	return nil
}

// isReplacedBy reports whether what ended a pod is why others are not ready yet:
// one took its place, or none has so far. A pod that has ended stays until it is
// collected, and most are of the past.
func isReplacedBy(ended Pod, waiting []Pod) bool {
	return len(waiting) == 0 || slices.ContainsFunc(waiting, func(pod Pod) bool {
		return pod.CreationTimestamp.Sub(workload.EndTime(ended.Pod)).Abs() < replacementDelay
	})
}

func (in *Input) podNotServing(pod Pod) *finding {
	if scheduled := workload.PodCondition(pod.Pod, corev1.PodScheduled); scheduled != nil &&
		scheduled.Status == corev1.ConditionFalse && scheduled.Reason == corev1.PodReasonUnschedulable {
		return &finding{reason: v1beta1.WebsiteReasonUnschedulable, message: "no node takes a pod: " + problem.Shorten(scheduled.Message)}
	}
	for _, containers := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range containers {
			if found := containerNotRunning(&containers[i]); found != nil {
				if failure := fetchFailure(in.Website, pod.Failure); failure != nil && found.reason == v1beta1.WebsiteReasonContainerFailing {
					return failure
				}
				return found
			}
		}
	}
	if pod.PathNotFound {
		return pathNotFound(in.Website)
	}
	if found := fetchFailure(in.Website, pod.Failure); found != nil {
		return found
	}
	if waitsToStart(pod.Pod) && in.Now.Sub(pod.CreationTimestamp.Time) >= startGrace {
		return notStarting(in.Website)
	}
	return nil
}

// podEvicted finds why a pod was ended. Where the kubelet says it depends on how
// the containers took it; see workload.Observation.
func podEvicted(pod Pod) *finding {
	why := cmp.Or(pod.Eviction, pod.Status.Message)
	if !strings.Contains(why, "EmptyDir volume") {
		return nil
	}
	return &finding{reason: v1beta1.WebsiteReasonRepositoryTooLarge, message: "the repository does not fit into the volume of a pod: " + problem.Shorten(why)}
}

// waitsToStart reports whether the kubelet of a pod's node has not brought up
// its volumes and its network.
func waitsToStart(pod *corev1.Pod) bool {
	scheduled, started := workload.PodCondition(pod, corev1.PodScheduled), workload.PodCondition(pod, corev1.PodReadyToStartContainers)
	return pod.Status.Phase == corev1.PodPending && scheduled != nil && scheduled.Status == corev1.ConditionTrue &&
		started != nil && started.Status == corev1.ConditionFalse
}

func notStarting(website *v1beta1.Website) *finding {
	message := "a pod waits for its volumes or its network; \"kubectl describe pods\" shows for what"
	if secret := website.Spec.Source.SecretRef; secret != nil {
		message = fmt.Sprintf("a pod waits for its volumes or its network; check that there is a Secret %q with the keys that the repository's protocol takes", secret.Name)
	}
	return &finding{reason: v1beta1.WebsiteReasonPodNotStarting, message: message}
}

// containerNotRunning finds why a container does not run. The reasons are those of
// the kubelet.
func containerNotRunning(container *corev1.ContainerStatus) *finding {
	waiting := container.State.Waiting
	if waiting == nil {
		return nil
	}
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable":
		return &finding{reason: v1beta1.WebsiteReasonImageUnavailable, message: fmt.Sprintf("the image %q of container %q cannot be pulled; check the flags --nginx-image and --git-sync-image of website-controller, and that the nodes reach the registry", container.Image, container.Name)}
	case "CreateContainerConfigError":
		return &finding{reason: v1beta1.WebsiteReasonContainerConfigError, message: fmt.Sprintf("container %q cannot be made: %s", container.Name, problem.Shorten(cmp.Or(waiting.Message, "its configuration is incomplete")))}
	case "CrashLoopBackOff", "RunContainerError", "CreateContainerError":
		message := fmt.Sprintf("container %q ends again and again", container.Name)
		if last := container.LastTerminationState.Terminated; last != nil {
			message += fmt.Sprintf(", last with exit code %d (%s)", last.ExitCode, last.Reason)
		}
		return &finding{reason: v1beta1.WebsiteReasonContainerFailing, message: message + "; \"kubectl logs\" shows why"}
	default:
		return nil
	}
}

// fetchFailure turns what is known about fetching into a finding. It never
// repeats what a program has printed.
func fetchFailure(website *v1beta1.Website, failure workload.Failure) *finding {
	switch failure {
	case workload.FailureNone:
		return nil
	case workload.FailureUnreachable:
		return &finding{reason: v1beta1.WebsiteReasonRepositoryUnreachable, message: "the host of spec.source.repository cannot be reached from the pods, or does not answer as a git server; check its name, the network and its certificate"}
	case workload.FailureNotFound:
		return &finding{reason: v1beta1.WebsiteReasonRepositoryNotFound, message: "the host of spec.source.repository has no such repository, or hides it from these credentials"}
	case workload.FailureAuthentication:
		if website.Spec.Source.SecretRef == nil {
			return &finding{reason: v1beta1.WebsiteReasonAuthenticationFailed, message: "the repository asks for credentials, or does not exist; name a Secret in spec.source.secretRef"}
		}
		return &finding{reason: v1beta1.WebsiteReasonAuthenticationFailed, message: fmt.Sprintf("the repository refuses the credentials in Secret %q", website.Spec.Source.SecretRef.Name)}
	case workload.FailureRefNotFound:
		return &finding{reason: v1beta1.WebsiteReasonRefNotFound, message: "the repository has nothing that spec.source.ref names, or is empty"}
	case workload.FailureStorage:
		return &finding{reason: v1beta1.WebsiteReasonRepositoryTooLarge, message: "the volume of a pod is full: the repository does not fit"}
	default:
		return &finding{reason: v1beta1.WebsiteReasonSyncFailing, message: fmt.Sprintf("fetching the repository fails; \"kubectl logs --selector controller=%s --container git-sync\" shows why", website.Name)}
	}
}

func pathNotFound(website *v1beta1.Website) *finding {
	return &finding{reason: v1beta1.WebsiteReasonPathNotFound, message: fmt.Sprintf("the commit has no directory %q, which spec.source.path names", website.Spec.Source.Path)}
}
