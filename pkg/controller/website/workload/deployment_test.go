package workload

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

// TestCommitOf: what the builder has put into the Deployment of a suspended
// Website is read back from it.
func TestCommitOf(t *testing.T) {
	commit := strings.Repeat("0a", 20)
	for name, test := range map[string]struct {
		ref  *v1beta1.GitReference
		want string
	}{
		"a branch":          {&v1beta1.GitReference{Branch: "main"}, ""},
		"a name like a tag": {&v1beta1.GitReference{Tag: commit}, ""},
		"a commit":          {&v1beta1.GitReference{Commit: commit}, commit},
		"nothing":           {nil, ""},
	} {
		website := &v1beta1.Website{Spec: v1beta1.WebsiteSpec{
			DeploymentName: "kubia",
			Source:         v1beta1.WebsiteSource{Git: &v1beta1.GitSource{Repository: "https://example.com/x.git", Ref: test.ref, Submodules: v1beta1.SubmodulesNone}},
			Polling:        v1beta1.WebsitePolling{Mode: v1beta1.PollingModePeriodic},
		}}
		desired, err := resources.Deployment(website, resources.Installation{}, "")
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.PodSpec{}
		for _, container := range desired.Spec.Template.Spec.InitContainers {
			pod.InitContainers = append(pod.InitContainers, corev1.Container{Name: *container.Name, Args: container.Args})
		}
		if got := CommitOf(pod); got != test.want {
			t.Errorf("%s: the pods stay on %q, want %q", name, got, test.want)
		}
	}
	if got := CommitOf(&corev1.PodSpec{}); got != "" {
		t.Errorf("an empty template stays on %q", got)
	}
}

func TestAvailabilityOf(t *testing.T) {
	for name, test := range map[string]struct {
		replicas int32
		status   appsv1.DeploymentStatus
		want     Availability
	}{
		"no pods":                  {3, appsv1.DeploymentStatus{}, Availability{}},
		"all":                      {3, appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}, Availability{RolledOut: true, Enough: true}},
		"all but one":              {3, appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 2}, Availability{Enough: true}},
		"all but two":              {3, appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 1}, Availability{}},
		"the only one is missing":  {1, appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1}, Availability{}},
		"pods of another template": {1, appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 1, AvailableReplicas: 2}, Availability{Enough: true}},
		"about an older spec":      {1, appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1, ObservedGeneration: -1}, Availability{Enough: true}},
	} {
		deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &test.replicas}, Status: test.status}
		if got := AvailabilityOf(deployment); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
