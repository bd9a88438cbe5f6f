package resources

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// TestKeptOn: the children follow nothing but the commit.
func TestKeptOn(t *testing.T) {
	commit := strings.Repeat("0a", 20)
	website := newWebsite(func(website *v1beta1.Website) { website.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: "main"} })
	before := website.DeepCopy()
	args := buildDeployment(t, KeptOn(website, commit)).Spec.Template.Spec.InitContainers[1].Args
	if !slices.Contains(args, RefFlag+commit) {
		t.Errorf("git-sync gets %q, want %q among them", args, RefFlag+commit)
	}
	if !reflect.DeepEqual(website, before) {
		t.Error("the Website was changed")
	}
}

func TestPodDisruptionBudget(t *testing.T) {
	website := newWebsite()
	budget := typed[policyv1.PodDisruptionBudget](t, PodDisruptionBudget(website))
	if budget.Name != DeploymentName(website) || budget.Spec.MaxUnavailable.IntValue() != 1 || *budget.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
		t.Errorf("unexpected PodDisruptionBudget: %+v", budget)
	}
	if !reflect.DeepEqual(budget.Spec.Selector.MatchLabels, PodSelector(website)) || !reflect.DeepEqual(budget.OwnerReferences, wantOwner()) {
		t.Errorf("it selects %v and is owned by %v", budget.Spec.Selector, budget.OwnerReferences)
	}
	for replicas, want := range map[int32]bool{0: false, 1: false, 2: true, 10: true} {
		website.Spec.Replicas = &replicas
		if got := WantsPodDisruptionBudget(website); got != want {
			t.Errorf("with %d replicas: %t, want %t", replicas, got, want)
		}
	}
}
