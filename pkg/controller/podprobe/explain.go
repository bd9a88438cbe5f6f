package podprobe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// logPeriod is how often the log of one pod is read at most.
const logPeriod = time.Minute

// explainFailure reads the log of a pod that fails to fetch, to say why.
func (p *Prober) explainFailure(ctx context.Context, pod *corev1.Pod) {
	failure := workload.FailureUnknown
	if log, err := p.Client.Log(ctx, pod); err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to read the log of git-sync", "pod", klog.KObj(pod), "err", err)
	} else {
		failure = classify(log)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.pods[pod.UID]; known != nil {
		known.fail(failure)
	}
}
