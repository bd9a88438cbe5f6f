package workload

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
)

func newPod() *cached.Pod { return &cached.Pod{Phase: corev1.PodRunning, PodIP: "127.0.0.1"} }

func TestCanAnswer(t *testing.T) {
	for name, tweak := range map[string]func(*cached.Pod){
		"no address": func(p *cached.Pod) { p.PodIP = "" },
		"pending":    func(p *cached.Pod) { p.Phase = corev1.PodPending },
		"ended":      func(p *cached.Pod) { p.Phase = corev1.PodFailed },
		"deleted":    func(p *cached.Pod) { p.IsTerminating = true },
	} {
		pod := newPod()
		tweak(pod)
		if CanAnswer(pod) {
			t.Errorf("%s: would be probed", name)
		}
	}
	if !CanAnswer(newPod()) {
		t.Error("a running pod would not be probed")
	}
}
