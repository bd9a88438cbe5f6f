package observer

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// logPeriod is how often the log of one pod is read at most.
const logPeriod = time.Minute

// explain reads the log of a pod that fails, to say why.
func (o *Observer) explain(ctx context.Context, pod *corev1.Pod) {
	failure := FailureUnknown
	if log, err := o.Pods.Log(ctx, pod); err != nil {
		klog.FromContext(ctx).V(2).Info("The log of a pod that fails to fetch cannot be read", "pod", klog.KObj(pod), "err", err)
	} else {
		failure = classify(log)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.pods[pod.UID]; known != nil {
		known.fail(failure)
	}
}

// fail notes why fetching fails. What is known about that is more than nothing.
func (r *record) fail(why Failure) {
	switch {
	case why != FailureUnknown:
		r.Failure = why
	case r.following == followingNo && r.Failure == FailureNone:
		r.Failure = why // Without that it may only be slow.
	}
	r.FollowingUnknown = r.following == followingUnknown
}
