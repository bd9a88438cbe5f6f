package website

import (
	"maps"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubesites/website-apiserver/pkg/controller/website/cached"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
	"github.com/kubesites/website-apiserver/pkg/controller/website/status"
)

// TestFormerPodsOfTwoRevisions: a Deployment that another client is rolling out is taken over
// afterwards. Until then the status has the reason of the wait, which may never end. Pods of another
// Deployment with the same selector do not count.
func TestFormerPodsOfTwoRevisions(t *testing.T) {
	for name, test := range map[string]struct {
		deployments []string
		blocked     bool
	}{
		"of the Deployment": {[]string{testDeployment, testDeployment}, true},
		"of the Deployment, and of one left behind under another name": {[]string{testDeployment, "former"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newWebsite())
			for i, deployment := range test.deployments {
				revision := strconv.Itoa(1000 + i)
				f.store(newPod(func(pod *corev1.Pod) {
					pod.Name, pod.UID, pod.OwnerReferences[0].Name = revision, types.UID(revision), deployment+"-"+revision
					pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = revision
				}))
			}
			former := &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testDeployment},
				Spec: appsv1.DeploymentSpec{
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"controller": testName}},
				},
			}
			former.Spec.Template.Spec.Containers = []corev1.Container{{Name: resources.GitSyncContainer}}
			p := f.controller.reconciler.takeover.KeepFormerPods(t.Context(),
				&status.Input{Website: newWebsite(), Deployment: cached.OfDeployment(former)})
			switch {
			case !test.blocked && p != nil:
				t.Errorf("the problem is %+v, want none", p)
			case test.blocked && (p == nil || p.Reason == "" || !p.Passing || p.Retry != problem.WithBackoff):
				t.Errorf("the problem is %+v, want one that is reported, passes and is tried again", p)
			}
		})
	}
}

// TestFormerPodsUntilTheyAreReplaced: as long as the Service selects pods of the original controller,
// the status has their nodes, even if earlier writes of it failed. The Service is left as it is.
func TestFormerPodsUntilTheyAreReplaced(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.converge(newWebsite())
	pod := newPod(func(pod *corev1.Pod) {
		pod.OwnerReferences[0].Name, pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = testDeployment+"-1000", "1000"
		maps.Copy(pod.Labels, f.deployment().Spec.Selector.MatchLabels)
		delete(pod.Labels, resources.LabelManagedBy)
	})
	f.store(pod)
	for revision, want := range map[string]int{"": 0, "1000": 1} {
		edit(f, testDeployment+"-npsvc", func(service *corev1.Service) {
			if service.Spec.Selector = map[string]string{"controller": testName}; revision != "" {
				service.Spec.Selector[appsv1.DefaultDeploymentUniqueLabelKey] = revision
			}
		})
		f.syncCaches()
		f.forgetHistory()
		input := &status.Input{Website: newWebsite(), Deployment: cached.OfDeployment(f.deployment())}
		if p := f.controller.reconciler.takeover.KeepFormerPods(t.Context(), input); p != nil {
			t.Errorf("a Service that leads to revision %q: %+v", revision, p)
		}
		if len(input.FormerPods) != want || len(f.writes()) > 0 {
			t.Errorf("a Service that leads to revision %q: %d former pods, want %d; writes %v, want none",
				revision, len(input.FormerPods), want, f.writes())
		}
	}
}
