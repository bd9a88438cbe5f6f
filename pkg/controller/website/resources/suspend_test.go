package resources

import (
	"reflect"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

func TestPinOf(t *testing.T) {
	commitA, commitB := strings.Repeat("a", 40), strings.Repeat("b", 40)
	suspended := func(website *v1beta1.Website) { website.Spec.Suspend = new(true) }
	pinned := func(website *v1beta1.Website) { website.Spec.Pin = pinTo(commitA) }
	served := func(website *v1beta1.Website) { website.Status.Commit = commitB }
	published := func(website *v1beta1.Website) {
		website.Status.History = []v1beta1.WebsiteRelease{{Commit: commitB}, {Commit: commitA}}
	}
	for name, test := range map[string]struct {
		tweaks []func(*v1beta1.Website)
		want   string
	}{
		"nothing": {nil, ""},
		"resumed": {
			[]func(*v1beta1.Website){func(w *v1beta1.Website) { w.Spec.Suspend = new(false) }, served}, "",
		},
		"pinned":                            {[]func(*v1beta1.Website){pinned, served}, commitA},
		"suspended":                         {[]func(*v1beta1.Website){suspended, pinned, served, published}, commitA},
		"suspended, and published later":    {[]func(*v1beta1.Website){suspended, served}, commitB},
		"suspended, and without pods now":   {[]func(*v1beta1.Website){suspended, published}, commitB},
		"suspended before it was published": {[]func(*v1beta1.Website){suspended}, requests.PinCurrent},
	} {
		if got := PinOf(newWebsite(test.tweaks...)); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestPodDisruptionBudget(t *testing.T) {
	website := newWebsite()
	budget := typed[policyv1.PodDisruptionBudget](t, PodDisruptionBudget(website))
	if budget.Name != DeploymentName(website) || budget.Spec.MaxUnavailable.IntValue() != 1 ||
		*budget.Spec.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
		t.Errorf("unexpected PodDisruptionBudget: %+v", budget)
	}
	if !reflect.DeepEqual(budget.Spec.Selector.MatchLabels, PodSelector(website)) ||
		!reflect.DeepEqual(budget.OwnerReferences, wantOwner()) {
		t.Errorf("it selects %v and is owned by %v", budget.Spec.Selector, budget.OwnerReferences)
	}
	for replicas, want := range map[int32]bool{0: false, 1: false, 2: true, 10: true} {
		website.Spec.Replicas = &replicas
		if got := WantsPodDisruptionBudget(website); got != want {
			t.Errorf("with %d replicas: %t, want %t", replicas, got, want)
		}
	}
}
