package podprobe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// recentEnd is how long after its end the cause of a pod's end is looked up. The
// pod stays in the API until it is collected, which may take months; its events
// are gone after an hour.
const recentEnd = 10 * time.Minute

// evictionTries is how often the event of an eviction is looked up. The kubelet
// writes it before the pod ends, but does not wait for it.
const evictionTries = 3

// explainEnd looks up why a pod has ended and returns when to try again, or 0.
// The kubelet says so in the status of the pod only if a container of it failed;
// nginx and git-sync end as they should when they are told to, and the pod has
// then simply succeeded.
func (p *Prober) explainEnd(ctx context.Context, pod *corev1.Pod) time.Duration {
	p.mu.Lock()
	known := p.pods[pod.UID]
	if known == nil {
		p.mu.Unlock()
		return 0
	}
	settled := pod.Status.Reason != "" || p.Clock.Since(workload.EndTime(pod)) >= recentEnd
	if settled || !known.ended {
		known.state = state{ended: true} // What it said last must not outlive it.
	}
	done := settled || known.known || known.failures >= evictionTries
	p.mu.Unlock()
	if done {
		return 0
	}

	message, err := p.Client.Eviction(ctx, pod)
	if err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to list the events of an ended pod", "pod", klog.KObj(pod), "err", err)
	}
	p.mu.Lock()
	if message == "" {
		known.failures++
	} else {
		known.Eviction, known.known = message, true
	}
	p.mu.Unlock()
	if message == "" {
		return unsettledPeriod
	}
	p.notify(ctx, known.website)
	return 0
}
