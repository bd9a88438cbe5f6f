package website

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubesites/website-apiserver/pkg/agent/requests"
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

func suspend(website *v1beta1.Website) { website.Spec.Suspend = new(true) }

// suspendOn suspends a Website as website-apiserver stores it.
func suspendOn(commit string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) {
		suspend(website)
		website.Spec.Pin = &v1beta1.WebsitePin{Commit: commit, Cause: v1beta1.PinCauseSuspend}
	}
}

// TestSuspendedWebsiteStays makes all changes to a suspended Website that must not update its site.
// No pod is replaced.
func TestSuspendedWebsiteStays(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.converge(newWebsite())
	template := f.deployment().Spec.Template
	change := func(when, want string, tweaks ...func(*v1beta1.Website)) {
		t.Helper()
		f.changeWebsite(newWebsite(tweaks...))
		f.reconcile(testKey)
		f.syncCaches()
		f.refreshWebsites()
		if got := f.agentPin(); got != want {
			t.Errorf("%s agents are to serve %q, want %q", when, got, want)
		}
	}
	change("before anything was published", requests.PinCurrent, suspend)
	f.setStatusCommit(commitA)
	change("once a commit is known", commitA, suspend)
	f.setStatusCommit("")
	change("when it is pinned", commitA, suspendOn(commitA))
	change("when it is scaled", commitA, suspendOn(commitA), withReplicas(3))
	if !reflect.DeepEqual(f.deployment().Spec.Template, template) {
		t.Errorf("the pods are replaced by %+v", f.deployment().Spec.Template)
	}
	f.setStatusCommit(commitB)
	change("whatever the pods serve", commitA, suspendOn(commitA))
	change("when another branch is named", commitA, suspendOn(commitA), func(website *v1beta1.Website) {
		website.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: "other"}
	})
	f.remove(f.deployment())
	f.syncCaches()
	change("when the Deployment is deleted", commitA, suspendOn(commitA))
	change("when it is resumed", "")
}

// agentPin returns the pin in the ConfigMap of the agents.
func (f *fixture) agentPin() string {
	f.Helper()
	obj, err := f.tracker.Get(corev1.SchemeGroupVersion.WithResource("configmaps"), testNamespace,
		resources.AgentConfigMapName(newWebsite()))
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		f.Fatal(err)
	}
	pin, err := requests.ParsePin([]byte(obj.(*corev1.ConfigMap).Data[requests.PinFile]))
	if err != nil {
		f.Fatal(err)
	}
	return pin.Commit
}

// setStatusCommit stores a status with only the served commit, or none.
func (f *fixture) setStatusCommit(commit string) {
	f.Helper()
	website := f.website(testName)
	website.Status = v1beta1.WebsiteStatus{Commit: commit}
	if err := f.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), website,
		testNamespace); err != nil {
		f.Fatal(err)
	}
}
