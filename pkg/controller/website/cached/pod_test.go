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
	"k8s.io/client-go/tools/cache"
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
		Spec: corev1.PodSpec{
			NodeName:       "node",
			InitContainers: []corev1.Container{{Name: "git-sync", Ports: []corev1.ContainerPort{{Name: "http"}}}},
			Containers:     []corev1.Container{{Name: "nginx", Ports: []corev1.ContainerPort{{Name: "metrics"}}}},
		},
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

// TestPod: the cache holds only the fields that the controller requires.
func TestPod(t *testing.T) {
	want := &Pod{
		Identity: Identity{Namespace: "default", Name: "kubia-website-1234-a", UID: "uid-of-pod"},
		Website:  cache.NewObjectName("default", "kubia"), Deployment: "kubia-website", Template: "1234",
		Labels: "controller=kubia,pod-template-hash=1234", Ports: "http,metrics",
		Phase: corev1.PodRunning, PodIP: "192.0.2.9", HostIP: "192.0.2.1",
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		Containers: []corev1.ContainerStatus{
			{
				Name: "git-sync", Image: "g",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			},
		},
	}
	// An informer may transform an object more than once.
	if pod := Of(Of(newPod())); !apiequality.Semantic.DeepEqual(pod, want) {
		t.Errorf("the cache holds\n%+v\nwant\n%+v", pod, want)
	}
}

func TestDeploymentOfPod(t *testing.T) {
	pod := func(apiVersion, kind, owner, hash string, controller bool) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"pod-template-hash": hash},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner,
				Controller: ptr.To(controller)}},
		}}
	}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"of a Deployment":      {pod("apps/v1", "ReplicaSet", "site-1234", "1234", true), "site"},
		"of a similar name":    {pod("apps/v1", "ReplicaSet", "site-b-1234", "1234", true), "site-b"},
		"of another hash":      {pod("apps/v1", "ReplicaSet", "site-b-1234", "b-12345", true), ""},
		"of another kind":      {pod("apps/v1", "StatefulSet", "site-1234", "1234", true), ""},
		"of another group":     {pod("example.com/v1", "ReplicaSet", "site-1234", "1234", true), ""},
		"without a hash":       {pod("apps/v1", "ReplicaSet", "site-", "", true), ""},
		"not controlled":       {pod("apps/v1", "ReplicaSet", "site-1234", "1234", false), ""},
		"with a very long one": {pod("apps/v1", "ReplicaSet", strings.Repeat("x", 300)+"-1234", "1234", true), ""},
		"unowned, with a label": {
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"controller": "kubia"}}}, "",
		},
	} {
		if got := OfPod(test.pod); got.Deployment != test.want || (got.Template == "") != (test.want == "") {
			t.Errorf("%s: Deployment %q, template %q, want %q", name, got.Deployment, got.Template, test.want)
		}
	}
}

// TestPodConditions: the cache holds the Ready condition of a running pod, and PodScheduled and
// PodReadyToStartContainers of other pods as well.
func TestPodConditions(t *testing.T) {
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
		var kept []corev1.PodConditionType
		for _, condition := range OfPod(pod).Conditions {
			kept = append(kept, condition.Type)
		}
		if !slices.Equal(kept, want) {
			t.Errorf("of a pod that is %s, %q are kept, want %q", phase, kept, want)
		}
	}
}

// TestContainers: the cache holds the state of a container that has ended only once its pod has.
func TestContainers(t *testing.T) {
	for phase, want := range map[corev1.PodPhase]int{
		corev1.PodRunning: 0, corev1.PodPending: 0, corev1.PodFailed: 1, corev1.PodSucceeded: 1,
	} {
		pod := OfPod(newPod(func(p *corev1.Pod) {
			p.Status.Phase, p.Status.ContainerStatuses = phase, nil
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: resources.GitSyncContainer,
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: "StorageFull"}}}}
		}))
		if len(pod.Containers) != want {
			t.Errorf("of a pod that is %s, %+v are kept, want %d", phase, pod.Containers, want)
		}
	}
}

// TestLargePods: any client that may create pods can create very large ones, whose size in the cache is
// bounded.
func TestLargePods(t *testing.T) {
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
	kept, err := json.Marshal(OfPod(pod))
	if err != nil {
		t.Fatal(err)
	}
	if most := 8 << 10; len(kept) > most {
		t.Errorf("%d bytes are kept, at most %d are wanted", len(kept), most)
	}
	if got := OfPod(pod).Deployment; got != "kubia-website" {
		t.Errorf("the Deployment is %q", got)
	}
}
