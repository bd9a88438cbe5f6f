package cached

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

// newPod returns a pod of a Website, changed by tweaks.
func newPod(tweaks ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "kubia-website-1234-a", UID: "uid-of-pod",
			Labels: map[string]string{"controller": "kubia", resources.LabelManagedBy: resources.ManagedBy,
				"pod-template-hash": "1234"},
			Annotations: map[string]string{"large": "annotation"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "kubia-website-1234",
				Controller: ptr.To(true)}},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "nginx"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "192.0.2.9", HostIP: "192.0.2.1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastProbeTime: metav1.Now()},
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

// TestTrimmedPods: TrimPod keeps only the fields that the controller requires.
func TestTrimmedPods(t *testing.T) {
	pod := newPod()
	for range 2 { // An informer may transform an object more than once.
		TrimPod(pod)
	}
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, OwnerReferences: newPod().OwnerReferences,
			Labels: map[string]string{"controller": "kubia", "pod-template-hash": "1234"},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "192.0.2.9", HostIP: "192.0.2.1",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{
				{
					Name: "git-sync", Image: "g",
					State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				},
			},
		},
	}
	if !apiequality.Semantic.DeepEqual(pod, want) {
		t.Errorf("the cache holds\n%+v\nwant\n%+v", pod, want)
	}
}

// TestTrimmedPodConditions: TrimPod keeps the Ready condition of a running pod. Of other pods, it also
// keeps PodScheduled and PodReadyToStartContainers.
func TestTrimmedPodConditions(t *testing.T) {
	all := []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady,
		corev1.ContainersReady, corev1.PodScheduled}
	notRunning := []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodReady, corev1.PodScheduled}
	for phase, want := range map[corev1.PodPhase][]corev1.PodConditionType{
		corev1.PodPending: notRunning, corev1.PodRunning: {corev1.PodReady}, corev1.PodFailed: notRunning,
		corev1.PodSucceeded: notRunning,
	} {
		pod := newPod(func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Conditions = phase, nil
			for _, kind := range all {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, LastProbeTime: metav1.Now()})
			}
		})
		for range 2 { // An informer may transform an object more than once.
			TrimPod(pod)
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

// TestTrimmedLargePods: any client that may create pods can create very large ones, but TrimPod bounds
// their size in the cache.
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
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: fmt.Sprint(i),
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}})
		}
		status := &p.Status.ContainerStatuses[1]
		status.Image, status.State.Waiting.Message = long, long
		status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Message: long}
	})
	TrimPod(pod)
	kept, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	if most := 8 << 10; len(kept) > most {
		t.Errorf("%d bytes are kept, at most %d are wanted", len(kept), most)
	}
	if owner := metav1.GetControllerOf(pod); owner == nil || owner.Name != "kubia-website-1234" ||
		len(pod.OwnerReferences) != 1 {
		t.Errorf("the owners are %+v", pod.OwnerReferences)
	}
}
