package status

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// Input is what the status of a Website is computed from.
type Input struct {
	Website *v1beta1.Website
	// Deployment is nil when there is none.
	Deployment *appsv1.Deployment
	// Service is nil when it is not known, or could not be written.
	Service *corev1.Service
	// ServiceTaken is true when the Service of that name belongs to something else.
	ServiceTaken bool
	// Pods are those of the Deployment, in the order of their names.
	Pods []Pod
	// Probing is false when commit observation is disabled.
	Probing bool
	// Problem is what keeps the children from being what they should be.
	Problem *problem.Problem
	Now     time.Time
}

// Pod is a pod and what was observed of it.
type Pod struct {
	*corev1.Pod
	workload.Observation
	// Observed is false while no probe has shown anything.
	Observed bool
	Ready    bool
}

// Compute returns what is to be reported. What is not known here stays as it was
// reported before.
func Compute(in *Input) v1beta1.WebsiteStatus {
	status := *in.Website.Status.DeepCopy()
	status.ObservedGeneration = in.Website.Generation
	// The scale subresource hands it to autoscalers, which select pods by it.
	status.Selector = resources.Selector(in.Website)
	status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas = 0, 0, 0, 0
	if in.Deployment != nil {
		pods := in.Deployment.Status
		status.Replicas, status.UpdatedReplicas = pods.Replicas, pods.UpdatedReplicas
		status.ReadyReplicas, status.AvailableReplicas = pods.ReadyReplicas, pods.AvailableReplicas
	}
	if in.Deployment == nil || in.ServiceTaken {
		status.NodePort, status.Urls = 0, nil
	}
	if port := httpPort(in.Service); port != nil {
		status.NodePort = port.NodePort
		status.Urls = urlsOf(in.Service, in.Pods)
	}
	status.Commit = in.commit()
	for _, condition := range conditions {
		meta.SetStatusCondition(&status.Conditions, condition.decide(in))
	}
	return status
}

// Recheck returns when something becomes a problem by the clock alone, or 0.
func Recheck(in *Input) time.Duration {
	for _, pod := range in.Pods {
		if waitsToStart(pod.Pod) {
			if wait := startGrace - in.Now.Sub(pod.CreationTimestamp.Time); wait > 0 {
				return wait + time.Second
			}
		}
	}
	return 0
}

// reported returns a condition as it was reported before, or nil.
func (in *Input) reported(kind string) *metav1.Condition {
	return meta.FindStatusCondition(in.Website.Status.Conditions, kind)
}

// SameExceptMessage reports whether a condition is what it was, in words that
// change with every try: ports of connections, what is left of a quota. Writing
// them would have the Website reconciled again, with other words.
func SameExceptMessage(before, after *metav1.Condition) bool {
	switch after.Reason {
	case v1beta1.WebsiteReasonReconcileError, v1beta1.WebsiteReasonQuotaExceeded, v1beta1.WebsiteReasonAdmissionDenied:
		return before.Status == after.Status && before.Reason == after.Reason && before.ObservedGeneration == after.ObservedGeneration
	default:
		return false
	}
}
