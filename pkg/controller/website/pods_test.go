package website

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

func newPod(tweaks ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: testNamespace, Name: "kubia-website-1234-a", UID: "uid-of-pod",
			Labels:          map[string]string{"controller": testName, resources.LabelManagedBy: resources.ManagedBy, "pod-template-hash": "1234"},
			Annotations:     map[string]string{"large": "annotation"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: testDeployment + "-1234", Controller: ptr.To(true)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
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
				{Name: "git-sync", Image: "g", ImageID: "sha256:2", RestartCount: 7, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
			},
		},
	}
	for _, tweak := range tweaks {
		tweak(pod)
	}
	return pod
}

// TestTrimmedPods: a cache of many pods holds what is read and no more.
func TestTrimmedPods(t *testing.T) {
	pod := newPod()
	for range 2 { // An informer may transform an object more than once.
		if _, err := trim(pod); err != nil {
			t.Fatal(err)
		}
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, OwnerReferences: newPod().OwnerReferences,
			Labels: map[string]string{"controller": testName, "pod-template-hash": "1234"},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "192.0.2.9", HostIP: "192.0.2.1",
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "git-sync", Image: "g", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}},
		},
	}
	if !apiequality.Semantic.DeepEqual(pod, want) {
		t.Errorf("the cache holds\n%+v\nwant\n%+v", pod, want)
	}
}

// TestTrimmedPodConditions: of a pod that runs is read whether it is ready, of others why they do not run and since when.
func TestTrimmedPodConditions(t *testing.T) {
	all := []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled}
	notRunning := []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodReady, corev1.PodScheduled}
	for phase, want := range map[corev1.PodPhase][]corev1.PodConditionType{
		corev1.PodPending: notRunning, corev1.PodRunning: {corev1.PodReady}, corev1.PodFailed: notRunning, corev1.PodSucceeded: notRunning,
	} {
		pod := newPod(func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Conditions = phase, nil
			for _, kind := range all {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, LastProbeTime: metav1.Now()})
			}
		})
		for range 2 { // An informer may transform an object more than once.
			if _, err := trim(pod); err != nil {
				t.Fatal(err)
			}
		}
		var kept []corev1.PodConditionType
		for _, condition := range pod.Status.Conditions {
			kept = append(kept, condition.Type)
		}
		if !slices.Equal(kept, want) {
			t.Errorf("of a pod that is %s, %q are kept, want %q", phase, kept, want)
		}
	}
}

// TestTrimmedLargePods: whoever may create pods decides how large they are.
func TestTrimmedLargePods(t *testing.T) {
	const many = 10_000
	long := strings.Repeat("x", 1<<20)
	pod := newPod(func(p *corev1.Pod) {
		p.OwnerReferences[0].UID, p.Finalizers, p.Status.Message = types.UID(long), []string{long}, long
		p.Status.Conditions[0].Message = long
		for i := range many {
			p.Labels[fmt.Sprintf("label-%d", i)] = "value"
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{Name: fmt.Sprint(i)})
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Ports: []corev1.ContainerPort{{Name: fmt.Sprint(i)}}})
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: fmt.Sprint(i), State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}})
		}
		status := &p.Status.ContainerStatuses[1]
		status.Image, status.State.Waiting.Message = long, long
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Message: long}
	})
	if _, err := trim(pod); err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	if most := 8 << 10; len(kept) > most {
		t.Errorf("%d bytes are kept, at most %d are wanted", len(kept), most)
	}
	if owner := metav1.GetControllerOf(pod); owner == nil || owner.Name != testDeployment+"-1234" || len(pod.OwnerReferences) != 1 {
		t.Errorf("the owners are %+v", pod.OwnerReferences)
	}
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
		"ready no longer":          {newPod(func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }), 1},
		"another address":          {newPod(func(p *corev1.Pod) { p.Status.PodIP = "192.0.2.10" }), 1},
		"about to go":              {newPod(func(p *corev1.Pod) { p.DeletionTimestamp = &now }), 1},
		"another one of that name": {newPod(func(p *corev1.Pod) { p.UID = "another" }), 1},
		"let go by its ReplicaSet": {newPod(func(p *corev1.Pod) { p.OwnerReferences = nil }), 1},
		"taken out of the Service": {newPod(func(p *corev1.Pod) { p.Labels["app"] = "debugged" }), 1},
		"moved to another Website": {newPod(func(p *corev1.Pod) { p.Labels["controller"] = "other" }), 2},
	} {
		f := newFixture(t, newWebsite())
		f.controller.queue.Running.Store(true)
		before := newPod()
		for _, pod := range []*corev1.Pod{before, test.after} {
			if _, err := trim(pod); err != nil {
				t.Fatal(err)
			}
		}
		f.controller.handlers.podHandler().OnUpdate(before, test.after)
		if got := f.controller.queue.Len(); got != test.want {
			t.Errorf("%s: %d Websites queued, want %d", name, got, test.want)
		}
	}
}

// strangers are pods with the labels of ours that do not belong to testName.
var strangers = map[string]func(*corev1.Pod){
	"without-owner":         func(p *corev1.Pod) { p.OwnerReferences = nil },
	"not-controlled":        func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil },
	"of-another-kind":       func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "StatefulSet" },
	"of-another-group":      func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "example.com/v1" },
	"of-another-deployment": func(p *corev1.Pod) { p.OwnerReferences[0].Name = "shop-1234" },
	"of-another-website":    func(p *corev1.Pod) { p.Labels["controller"] = "other" },
	"of-another-namespace":  func(p *corev1.Pod) { p.Namespace = "other" },
}

// TestOnlyOwnPodsCount: labels are no proof.
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
