package observer

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// recentEnd is how long after its end it is still found out why a pod has ended.
// It stays in the API until it is collected, which may take months; its events
// are gone after an hour.
const recentEnd = 10 * time.Minute

// evictionTries is how often the event of an eviction is looked for. The kubelet
// writes it before the pod ends, but does not wait for it.
const evictionTries = 3

// HasEnded reports whether no container of a pod runs or will run again: the
// kubelet has evicted it, or its node has gone.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// End returns when a pod has ended: that was the last that changed in it.
func End(pod *corev1.Pod) time.Time {
	var end time.Time
	for _, condition := range pod.Status.Conditions {
		if changed := condition.LastTransitionTime.Time; changed.After(end) {
			end = changed
		}
	}
	return end
}

// explainEnd finds out why a pod has ended and returns when to try again, or 0.
// The kubelet says so in the status of the pod only if a container of it failed;
// nginx and git-sync end as they should when they are told to, and the pod has
// then simply succeeded.
func (o *Observer) explainEnd(ctx context.Context, pod *corev1.Pod) time.Duration {
	if pod.Status.Reason != "" || o.Clock.Since(End(pod)) >= recentEnd {
		o.Forget(pod.UID)
		return 0
	}
	o.mu.Lock()
	known := o.pods[pod.UID]
	if known == nil || !known.ended {
		// What it said last must not outlive it.
		known = &record{ended: true}
		o.pods[pod.UID] = known
	}
	done := known.known || known.failures >= evictionTries
	o.mu.Unlock()
	if done {
		return 0
	}

	message, err := o.Pods.Eviction(ctx, pod)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The events of a pod that has ended cannot be read", "pod", klog.KObj(pod), "err", err)
	}
	o.mu.Lock()
	if message == "" {
		known.failures++
	} else {
		known.Eviction, known.known = message, true
	}
	o.mu.Unlock()
	if message == "" {
		return unsettledPeriod
	}
	o.Changed(pod)
	return 0
}
