package website

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// TestFormerPodsOfTwoRevisions: a Deployment that another client is rolling out is taken over afterwards, and until then
// the status says what is waited for, as that can be for ever.
func TestFormerPodsOfTwoRevisions(t *testing.T) {
	f := newFixture(t, newWebsite())
	for _, revision := range []string{"1234", "5678"} {
		f.store(newPod(func(pod *corev1.Pod) {
			pod.Name, pod.UID, pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = revision, types.UID(revision), revision
		}))
	}
	former := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testDeployment},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"controller": testName}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: resources.GitSyncContainer}}}},
		},
	}
	p := f.controller.reconciler.keepFormerPods(t.Context(), &status.Input{Website: newWebsite(), Deployment: former})
	if p == nil || p.Reason == "" || !p.Passing || p.Retry != problem.WithBackoff {
		t.Errorf("the problem is %+v, want one that is reported, passes and is tried again", p)
	}
}
