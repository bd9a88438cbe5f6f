package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// startGrace is the time that a pod may wait for its volumes and its network.
const startGrace = 30 * time.Second

// replacementDelay is the maximum time between the end of a pod and the creation of its replacement.
const replacementDelay = time.Minute

// podProblem returns the reason why there are too few pods, or why they do not serve.
func podProblem(in *Input) *finding {
	if in.Deployment == nil || in.rolledOut() {
		return nil
	}
	if found := podsRefused(in.Website, in.Deployment); found != nil {
		return found
	}
	if found := in.podsNotServing(); found != nil {
		return found
	}
	return in.stillReported(v1beta1.WebsiteReady, in.anyStartsInSilence())
}

// podsNotServing returns the reason why pods do not serve, from the first pod whose status has one.
// It does not name the pod: the message would change with every restart.
func (in *Input) podsNotServing() *finding {
	var waiting, ended []Pod
	var present int32
	for _, pod := range in.Pods {
		switch {
		case !in.isOfTheSpec(pod):
		case workload.HasEnded(pod.Pod):
			ended = append(ended, pod)
		case pod.IsTerminating:
		default:
			present++
			if !pod.Ready {
				waiting = append(waiting, pod)
			}
		}
	}
	for _, pod := range waiting {
		if found := in.podNotServing(pod); found != nil {
			return found
		}
	}
	noneFollows := len(waiting) == 0 && present < in.wantedReplicas()
	for _, pod := range ended {
		if found := podEvicted(in.Website, pod); found != nil && (noneFollows || isReplacedBy(pod, waiting)) {
			return found
		}
	}
	return nil
}

// isReplacedBy reports whether one of the waiting pods is the replacement of an ended one. Ended pods
// stay until they are collected, and most are old.
func isReplacedBy(ended Pod, waiting []Pod) bool {
	end := workload.EndTime(ended.Pod)
	return slices.ContainsFunc(waiting, func(pod Pod) bool {
		return pod.CreationTimestamp.Sub(end).Abs() < replacementDelay
	})
}

// isOfTheSpec reports whether a pod has the current pod template. The current spec may fix the
// problem of an outdated pod.
func (in *Input) isOfTheSpec(pod Pod) bool {
	return in.current() && in.Template != "" && pod.Template == in.Template
}

func (in *Input) podNotServing(pod Pod) *finding {
	if scheduled := workload.PodCondition(pod.Pod, corev1.PodScheduled); scheduled != nil &&
		scheduled.Status == corev1.ConditionFalse && scheduled.Reason == corev1.PodReasonUnschedulable {
		return &finding{reason: v1beta1.WebsiteReasonUnschedulable, message: "no node fits a pod: " + scheduled.Message}
	}
	for i := range pod.Containers {
		if found := containerNotRunning(&pod.Containers[i]); found != nil {
			if failure := fetchFailure(in.Website, pod.Observation); failure != nil &&
				found.reason == v1beta1.WebsiteReasonContainerFailing {
				return failure
			}
			return found
		}
	}
	if pod.PathNotFound {
		return pathNotFound(in.Website, pod)
	}
	if found := fetchFailure(in.Website, pod.Observation); found != nil {
		return found
	}
	if waitsToStart(pod.Pod) && in.Now.Sub(pod.CreationTimestamp.Time) >= startGrace {
		return notStarting(in.Website)
	}
	return nil
}

// podEvicted returns the reason why a pod was evicted. The kubelet reports it only if that made a
// container fail; otherwise the agent has reported it.
func podEvicted(website *v1beta1.Website, pod Pod) *finding {
	if why := pod.Message; strings.Contains(why, "EmptyDir volume") {
		return &finding{reason: v1beta1.WebsiteReasonStorageFull,
			message: "the volume of a pod was full: raise spec.storage.sizeLimit: " + why}
	}
	if workload.VolumeWasFull(pod.Pod) {
		return explainFetch(website, git.ReasonStorageFull)
	}
	return nil
}

// waitsToStart reports whether the kubelet of a pod's node has not set up its volumes and its
// network.
func waitsToStart(pod *cached.Pod) bool {
	scheduled, started := workload.PodCondition(pod, corev1.PodScheduled),
		workload.PodCondition(pod, corev1.PodReadyToStartContainers)
	return pod.Phase == corev1.PodPending && scheduled != nil && scheduled.Status == corev1.ConditionTrue &&
		started != nil && started.Status == corev1.ConditionFalse
}

func notStarting(website *v1beta1.Website) *finding {
	message := "a pod is waiting for its volumes or its network; see \"kubectl describe pods\""
	if secret := resources.Git(website).SecretRef; secret != nil {
		message = fmt.Sprintf("a pod is waiting for its volumes or its network; check that Secret %q exists and has the "+
			"keys for the protocol of the repository", secret.Name)
	}
	return &finding{reason: v1beta1.WebsiteReasonPodNotStarting, message: message}
}

// containerNotRunning returns the reason why a container does not run, as reported by the kubelet.
func containerNotRunning(container *corev1.ContainerStatus) *finding {
	waiting := container.State.Waiting
	if waiting == nil {
		return nil
	}
	switch waiting.Reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError",
		"RegistryUnavailable":
		return &finding{reason: v1beta1.WebsiteReasonImageUnavailable, message: fmt.Sprintf("the image %q of container %q "+
			"cannot be pulled; check the flags --nginx-image, --git-sync-image and --agent-image of website-controller, and "+
			"that the nodes can reach the registry", container.Image, container.Name)}
	case "CreateContainerConfigError":
		return &finding{
			reason: v1beta1.WebsiteReasonContainerConfigError, message: fmt.Sprintf("container %q cannot be created: %s",
				container.Name, cmp.Or(waiting.Message, "its configuration is incomplete")),
		}
	case "CrashLoopBackOff", "RunContainerError", "CreateContainerError":
		message := fmt.Sprintf("container %q is crash-looping", container.Name)
		if last := container.LastTerminationState.Terminated; last != nil {
			message += fmt.Sprintf(", last with exit code %d (%s)", last.ExitCode, last.Reason)
		}
		return &finding{reason: v1beta1.WebsiteReasonContainerFailing, message: message + "; see \"kubectl logs\""}
	default:
		return nil
	}
}

// pathNotFound returns the finding for a pod whose last fetched commit is not published.
func pathNotFound(website *v1beta1.Website, pod Pod) *finding {
	message := fmt.Sprintf("spec.source.path: the last commit has no directory %q", website.Spec.Source.Path)
	if pod.Commit != "" {
		message += "; the release before it is served"
	}
	return &finding{reason: v1beta1.WebsiteReasonPathNotFound, message: message}
}
