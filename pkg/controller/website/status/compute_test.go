package status

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func recheck(in *Input) time.Duration {
	computed := Compute(in)
	return Recheck(in, &computed)
}

func TestRecheck(t *testing.T) {
	in := newInput(broken(func(p *Pod) {
		p.CreationTimestamp = metav1.NewTime(testNow.Add(-10 * time.Second))
		p.Phase = corev1.PodPending
		p.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse}}
	}))
	if got := recheck(in); got < 20*time.Second || got > startGrace {
		t.Errorf("a pod that waits since 10 seconds is checked again after %v", got)
	}
	if got := recheck(newInput()); got != 0 {
		t.Errorf("a pod that runs is checked again after %v", got)
	}
}
