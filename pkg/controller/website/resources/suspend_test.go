package resources

import (
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestKeptOn: what a suspended Website's Deployment says is read back from it.
func TestKeptOn(t *testing.T) {
	commit := strings.Repeat("0a", 20)
	site := newWebsite(func(site *v1beta1.Website) { site.Spec.Source.Ref = &v1beta1.GitReference{Branch: "main"} })
	before := site.DeepCopy()
	if got := CommitOf(buildDeployment(t, site)); got != "" {
		t.Errorf("a site that follows a branch stays on %q", got)
	}
	if got := CommitOf(buildDeployment(t, KeptOn(site, commit))); got != commit {
		t.Errorf("kept on %q, want %q", got, commit)
	}
	if !reflect.DeepEqual(site, before) {
		t.Error("the Website was changed")
	}
	if got := CommitOf(&appsv1.Deployment{}); got != "" {
		t.Errorf("an empty Deployment is kept on %q", got)
	}
}

func TestIsOwn(t *testing.T) {
	pod := func(apiVersion, kind, owner, hash string, controller bool) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Labels:          map[string]string{"pod-template-hash": hash},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner, Controller: ptr.To(controller)}},
		}}
	}
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want bool
	}{
		"of the Deployment":       {pod("apps/v1", "ReplicaSet", "site-1234", "1234", true), true},
		"of another Deployment":   {pod("apps/v1", "ReplicaSet", "site-b-1234", "1234", true), false},
		"of a similar name":       {pod("apps/v1", "ReplicaSet", "site-b-1234", "b-12345", true), false},
		"of another kind":         {pod("apps/v1", "StatefulSet", "site-1234", "1234", true), false},
		"of another group":        {pod("example.com/v1", "ReplicaSet", "site-1234", "1234", true), false},
		"without a hash":          {pod("apps/v1", "ReplicaSet", "site", "", true), false},
		"not controlled":          {pod("apps/v1", "ReplicaSet", "site-1234", "1234", false), false},
		"somebody's with a label": {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"controller": "kubia"}}}, false},
	} {
		if got := IsOwn(test.pod, "site"); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}

func TestPodDisruptionBudget(t *testing.T) {
	site := newWebsite()
	budget := typed[policyv1.PodDisruptionBudget](t, PodDisruptionBudget(site))
	if budget.Name != DeploymentName(site) || budget.Spec.MaxUnavailable.IntValue() != 1 || *budget.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
		t.Errorf("unexpected PodDisruptionBudget: %+v", budget)
	}
	if !reflect.DeepEqual(budget.Spec.Selector.MatchLabels, selectorLabels(site)) || !reflect.DeepEqual(budget.OwnerReferences, wantOwner()) {
		t.Errorf("it selects %v and is owned by %v", budget.Spec.Selector, budget.OwnerReferences)
	}
	for replicas, want := range map[int32]bool{0: false, 1: false, 2: true, 10: true} {
		site.Spec.Replicas = &replicas
		if got := WantsPodDisruptionBudget(site); got != want {
			t.Errorf("with %d replicas: %t, want %t", replicas, got, want)
		}
	}
}
