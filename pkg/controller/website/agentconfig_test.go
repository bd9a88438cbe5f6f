package website

import (
	"context"
	"slices"
	"strings"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/agentkeys"
)

// TestThePinReachesTheAgents: a pin and its end are written for the agents, and replace no pod.
// Other changes of the spec, such as the number of replicas, are not written there.
func TestThePinReachesTheAgents(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.converge(f.website(testName))
	before := f.deployment().Spec.Template.Spec
	change := func(edit func(website *v1beta1.Website)) {
		website := f.website(testName).DeepCopy()
		edit(website)
		website.Generation++
		if err := f.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), website, website.Namespace); err != nil {
			t.Fatal(err)
		}
		f.cacheWebsite(website)
		f.forgetHistory()
		if problems := f.reconcile(testKey); len(problems) > 0 {
			t.Fatal(problems)
		}
		f.syncCaches()
		f.refreshWebsites()
	}
	for _, pin := range []string{strings.Repeat("a", 40), strings.Repeat("b", 40), ""} {
		change(func(website *v1beta1.Website) { website.Spec.Pin = pinTo(pin) })
		got, err := requests.ParsePin([]byte(f.agentConfigMap().Data[requests.PinFile]))
		if want := (requests.Pin{Commit: pin, Generation: f.website(testName).Generation}); err != nil || got != want {
			t.Errorf("agents read %+v, %v, want %+v", got, err, want)
		}
		if writes := f.childWrites(); !slices.Equal(writes, []string{"update ConfigMap " + testAgentConfigMap}) {
			t.Errorf("writes %q", writes)
		}
	}
	if after := f.deployment().Spec.Template.Spec; !apiequality.Semantic.DeepEqual(before, after) {
		t.Error("the pods are replaced")
	}
	change(func(website *v1beta1.Website) { *website.Spec.Replicas++ })
	if writes := f.childWrites(); slices.Contains(writes, "update ConfigMap "+testAgentConfigMap) {
		t.Errorf("writes %q", writes)
	}
}

// TestKeysReachTheAgents: the public keys are written for the agents, and stay while they are
// not known.
func TestKeysReachTheAgents(t *testing.T) {
	f := newFixture(t, newWebsite())
	keys := agentkeys.New(agentkeys.Config{Secrets: f.kube.CoreV1().Secrets("website-system"), Name: "keys"})
	f.controller.reconciler.keys = keys
	f.converge(f.website(testName))
	if got := f.agentConfigMap().Data[requests.KeysFile]; got != "" {
		t.Errorf("before there are keys agents read %q", got)
	}
	keys.Load(context.Background())
	f.converge(f.website(testName))
	published := keys.Public()
	if got := f.agentConfigMap().Data[requests.KeysFile]; got != published || got == "" {
		t.Errorf("agents read the keys %q, want %q", got, published)
	}
	f.controller.reconciler.keys = agentkeys.New(agentkeys.Config{Secrets: f.kube.CoreV1().Secrets("another"), Name: "keys"})
	f.converge(f.website(testName))
	if got := f.agentConfigMap().Data[requests.KeysFile]; got != published {
		t.Errorf("agents read the keys %q, want those of before", got)
	}
	if !metav1.IsControlledBy(f.agentConfigMap(), f.website(testName)) {
		t.Error("the ConfigMap does not belong to the Website")
	}
}

// pinTo returns a pin; nil without a commit.
func pinTo(commit string) *v1beta1.WebsitePin {
	if commit == "" {
		return nil
	}
	return &v1beta1.WebsitePin{Commit: commit}
}
