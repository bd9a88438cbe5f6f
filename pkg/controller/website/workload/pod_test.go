package workload

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestBelongsTo(t *testing.T) {
	pod := func(apiVersion, kind, owner, hash string, controller bool) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"pod-template-hash": hash},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner,
				Controller: ptr.To(controller)}},
		}}
	}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"of the Deployment":     {pod("apps/v1", "ReplicaSet", "site-1234", "1234", true), true},
		"of another Deployment": {pod("apps/v1", "ReplicaSet", "site-b-1234", "1234", true), false},
		"of a similar name":     {pod("apps/v1", "ReplicaSet", "site-b-1234", "b-12345", true), false},
		"of another kind":       {pod("apps/v1", "StatefulSet", "site-1234", "1234", true), false},
		"of another group":      {pod("example.com/v1", "ReplicaSet", "site-1234", "1234", true), false},
		"without a hash":        {pod("apps/v1", "ReplicaSet", "site", "", true), false},
		"not controlled":        {pod("apps/v1", "ReplicaSet", "site-1234", "1234", false), false},
		"unowned, with a label": {
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"controller": "kubia"}}}, false,
		},
	} {
		if got := BelongsTo(test.pod, "site"); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

func newPod() *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "127.0.0.1"}}
}

func TestCanAnswer(t *testing.T) {
	for name, tweak := range map[string]func(*corev1.Pod){
		"no address": func(p *corev1.Pod) { p.Status.PodIP = "" },
		"pending":    func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending },
		"ended":      func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"deleted":    func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
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
