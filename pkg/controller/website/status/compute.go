package status

import (
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// Input is the observed state from which the status of a Website is computed.
type Input struct {
	Website *v1beta1.Website
	// Deployment is nil when there is none.
	Deployment *cached.Deployment
	// Service is nil when it is unknown, or could not be written.
	Service *cached.Service
	// ServiceTaken is true when the Service of that name has another owner.
	ServiceTaken bool
	// ServiceMissing is true when there is no Service and it could not be created.
	ServiceMissing bool
	// PodSelector selects the ready pods. It is nil when there are none and the labels of the next
	// ready pods are unknown.
	PodSelector map[string]string
	// ServiceWaits is the time until the Service stops selecting the pods of the original controller.
	ServiceWaits time.Duration
	// RolloutPending is true while the replacement of the pods waits for rollouts of other Websites.
	RolloutPending bool
	// Pods are the pods of the Deployment, sorted by name.
	Pods []Pod
	// Template is the label pod-template-hash of the pods with the current pod template. It is empty
	// when there are none.
	Template string
	// FormerPods are the ready pods of the original controller, while the Service should select them.
	FormerPods []*cached.Pod
	// LeftBehind names the children that the original controller has left under a former
	// deploymentName. It is empty if there are none.
	LeftBehind string
	// Probing is false when commit observation is disabled.
	Probing bool
	// Routing is the observed state of the hosts; nil without hosts.
	Routing *Routing
	// Previews is the observed state of the previews; nil if there should be none.
	Previews *Previews
	// RoutesRemain is true while routes of a Website may not have been removed.
	RoutesRemain bool
	// Problem is the reason why the children differ from their desired state.
	Problem *problem.Problem
	// SyncRequest and Origin are state that the controller keeps in memory only.
	SyncRequest SyncRequest
	Origin      Origin
	Now         time.Time

	// hosts is the status of the hosts of the spec, as Compute reports it.
	hosts []v1beta1.WebsiteHostStatus
	// routed is the condition Routed that Compute reports, or nil.
	routed *metav1.Condition
}

// Pod is a pod and the result of its probes.
type Pod struct {
	*cached.Pod
	workload.Observation
	// Observed is false before the first probe.
	Observed bool
	Ready    bool
}

// ReadyPods returns the pods that are ready.
func (in *Input) ReadyPods() []*cached.Pod {
	var ready []*cached.Pod
	for _, pod := range in.Pods {
		if pod.Ready {
			ready = append(ready, pod.Pod)
		}
	}
	return ready
}

// Compute returns the status to report. Fields whose values are currently unknown keep their last
// reported values.
func Compute(input *Input) v1beta1.WebsiteStatus {
	computed := *input
	in := &computed
	in.hosts = in.hostStatuses()
	in.routed = routedDeclaration.decide(in)
	status := *in.Website.Status.DeepCopy()
	// A HorizontalPodAutoscaler reads the selector from the scale subresource to find the pods.
	if in.PodSelector != nil {
		status.Selector = labels.SelectorFromSet(in.PodSelector).String()
	} else if status.Selector == "" {
		status.Selector = labels.SelectorFromSet(resources.PodSelector(in.Website)).String()
	}
	status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas = 0, 0, 0, 0
	if in.Deployment != nil {
		pods := in.Deployment.Status
		status.Replicas, status.UpdatedReplicas = pods.Replicas, pods.UpdatedReplicas
		status.ReadyReplicas, status.AvailableReplicas = pods.ReadyReplicas, pods.AvailableReplicas
	}
	if in.Deployment == nil || in.ServiceTaken {
		status.URLs = nil
	}
	// The status keeps the node port of a deleted Service, so that the controller recreates it with the
	// same port, unless another client's object has the name of the Service or of the Deployment.
	if in.ServiceTaken || in.Deployment == nil && in.Problem != nil &&
		in.Problem.Reason == v1beta1.WebsiteReasonNameTaken {
		status.NodePort = 0
	}
	if port := httpPort(in.Service); port != nil {
		status.URLs = append(in.hostURLs(), urlsOf(in.Service, in.nodes())...)
		status.NodePort = port.NodePort
	}
	status.Hosts = in.hosts
	status.Previews = in.previews()
	status.Commit = in.commit()
	status.History = in.history()
	status.Sync = in.sync(status.History)
	for _, condition := range conditions {
		if decided := condition.decide(in); decided != nil {
			if condition.kind == v1beta1.WebsiteReconciling && !in.isReported(condition.kind, decided.Reason) {
				// Reconciling has a new reason or generation: reset its lastTransitionTime.
				meta.RemoveStatusCondition(&status.Conditions, condition.kind)
			}
			meta.SetStatusCondition(&status.Conditions, *decided)
		} else {
			meta.RemoveStatusCondition(&status.Conditions, condition.kind)
		}
	}
	// A client that ignores the observedGeneration of conditions must not mistake Ready for the
	// condition of a newer generation.
	status.ObservedGeneration = meta.FindStatusCondition(status.Conditions, v1beta1.WebsiteReady).ObservedGeneration
	fit(&status)
	return status
}

// Recheck returns the time after which the status must be computed again even without an event. It
// returns 0 if no such time is due.
func Recheck(in *Input, computed *v1beta1.WebsiteStatus) time.Duration {
	var next time.Duration
	due := func(in time.Duration) {
		if in > 0 && (next == 0 || in < next) {
			next = in
		}
	}
	due(in.ServiceWaits)
	due(in.untilStalled(computed))
	if in.Previews != nil {
		due(in.Previews.Next)
	}
	if begun := in.SyncRequest.Begun; !begun.IsZero() && RunningSync(in.Website.Status.Sync) != 0 {
		due(in.syncLimit() - in.Now.Sub(begun))
	}
	for _, pod := range in.Pods {
		if waitsToStart(pod.Pod) {
			if wait := startGrace - in.Now.Sub(pod.CreationTimestamp.Time); wait > 0 {
				due(wait + time.Second)
			}
		}
	}
	return next
}

// reported returns a condition from the last reported status, or nil.
func (in *Input) reported(kind string) *metav1.Condition {
	return meta.FindStatusCondition(in.Website.Status.Conditions, kind)
}

// isReported reports whether the last reported condition has a reason, for the current generation.
func (in *Input) isReported(kind, reason string) bool {
	before := in.reported(kind)
	return before != nil && before.Reason == reason && before.ObservedGeneration == in.Website.Generation
}

// withDigits matches words with digits, which can change with every retry, such as ports of connections
// and the remaining quota.
var withDigits = regexp.MustCompile(`\S*[0-9]\S*`)

// SameExceptWording reports whether two versions of a condition differ only in words that change with
// every retry. Such a condition keeps its old message, because a status write triggers a reconcile.
func SameExceptWording(before, after *metav1.Condition) bool {
	if before.Status != after.Status || before.Reason != after.Reason ||
		before.ObservedGeneration != after.ObservedGeneration {
		return false
	}
	switch after.Reason {
	case v1beta1.WebsiteReasonReconcileError:
		// Retries of one write can fail in different ways: the connection is refused, or times out.
		return whatWasDone(before.Message) == whatWasDone(after.Message)
	case v1beta1.WebsiteReasonQuotaExceeded, v1beta1.WebsiteReasonAdmissionDenied:
		return withDigits.ReplaceAllString(before.Message, "0") == withDigits.ReplaceAllString(after.Message, "0")
	default:
		return false
	}
}

// whatWasDone returns the part of an error message before the first colon, which names the failed
// operation and its object.
func whatWasDone(message string) string {
	done, _, _ := strings.Cut(message, ": ")
	return done
}
