package website

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

func newPod(tweaks ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: testNamespace, Name: "kubia-website-1234-a", UID: "uid-of-pod",
			Labels: map[string]string{"controller": testName, resources.LabelManagedBy: resources.ManagedBy,
				"pod-template-hash": "1234"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: testDeployment + "-1234",
				Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "nginx"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "192.0.2.9", HostIP: "192.0.2.1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastProbeTime: metav1.NewTime(testNow)},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
			},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "nginx", Image: "i", ImageID: "sha256:1", ContainerID: "containerd://1", Ready: true, Started: ptr.To(true)},
				{Name: "git-sync", Image: "g", ImageID: "sha256:2", RestartCount: 7,
					State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
			},
		},
	}
	for _, tweak := range tweaks {
		tweak(pod)
	}
	return pod
}

func TestPodEvents(t *testing.T) {
	now := metav1.NewTime(testNow)
	for name, test := range map[string]struct {
		after *corev1.Pod
		want  int
	}{
		"nothing that is read here": {newPod(func(p *corev1.Pod) {
			p.ResourceVersion, p.Status.ContainerStatuses[0].ContainerID = "2", "containerd://2"
		}), 0},
		"ready no longer": {newPod(func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }),
			1},
		"another address":          {newPod(func(p *corev1.Pod) { p.Status.PodIP = "192.0.2.10" }), 1},
		"about to go":              {newPod(func(p *corev1.Pod) { p.DeletionTimestamp = &now }), 1},
		"another one of that name": {newPod(func(p *corev1.Pod) { p.UID = "another" }), 1},
		"let go by its ReplicaSet": {newPod(func(p *corev1.Pod) { p.OwnerReferences = nil }), 1},
		"taken out of the Service": {newPod(func(p *corev1.Pod) { p.Labels["app"] = "debugged" }), 1},
		"moved to another Website": {newPod(func(p *corev1.Pod) { p.Labels["controller"] = "other" }), 2},
	} {
		f := newFixture(t, newWebsite())
		f.controller.queue.Running.Store(true)
		f.controller.handlers.podHandler().OnUpdate(cached.OfPod(newPod()), cached.OfPod(test.after))
		if got := f.controller.queue.Len(); got != test.want {
			t.Errorf("%s: %d Websites queued, want %d", name, got, test.want)
		}
	}
}

// strangers are pods with the labels of testName that do not belong to it.
var strangers = map[string]func(*corev1.Pod){
	"without-owner":         func(p *corev1.Pod) { p.OwnerReferences = nil },
	"not-controlled":        func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil },
	"of-another-kind":       func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "StatefulSet" },
	"of-another-group":      func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "example.com/v1" },
	"of-another-deployment": func(p *corev1.Pod) { p.OwnerReferences[0].Name = "shop-1234" },
	"of-another-website":    func(p *corev1.Pod) { p.Labels["controller"] = "other" },
	"of-another-namespace":  func(p *corev1.Pod) { p.Namespace = "other" },
}

// TestOnlyOwnPodsCount: labels alone do not make a pod one of the Website.
func TestOnlyOwnPodsCount(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.store(newPod())
	for name, tweak := range strangers {
		f.store(newPod(func(p *corev1.Pod) { p.Name = name }, tweak))
	}
	f.syncCaches()
	pods := f.controller.pods.of(newWebsite())
	if len(pods) != 1 || pods[0].Name != newPod().Name || !pods[0].Ready || pods[0].Observed {
		t.Errorf("pods: %+v", pods)
	}
}
