package website

import (
	"testing"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

func suspend(website *v1beta1.Website) { website.Spec.Suspend = new(true) }

// TestSuspendedWebsiteStays lets everything happen to a suspended Website that must not
// make it move on.
func TestSuspendedWebsiteStays(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.converge(newWebsite())
	change := func(tweaks ...func(*v1beta1.Website)) {
		t.Helper()
		f.changeWebsite(newWebsite(tweaks...))
		f.reconcile(testKey)
		f.syncCaches()
		f.refreshWebsites()
	}
	stays := func(when, want string) {
		t.Helper()
		if got := workload.CommitOf(&f.deployment().Spec.Template.Spec); got != want {
			t.Fatalf("%s the pods stay on %q, want %q", when, got, want)
		}
	}
	change(suspend)
	stays("while no commit is known", "")

	f.setStatusCommit(commitA)
	change(suspend)
	stays("once it is known", commitA)

	f.setStatusCommit("")
	change(suspend)
	stays("when the status is lost", commitA)
	change(suspend, withReplicas(3))
	stays("when it is scaled", commitA)
	change(suspend, func(website *v1beta1.Website) { website.Spec.Source.Git.Ref = &v1beta1.GitReference{Branch: "other"} })
	stays("when another branch is named", commitA)
	f.remove(f.deployment())
	f.syncCaches()
	change(suspend)
	stays("when the Deployment is deleted", commitA)

	change()
	stays("when it is resumed", "")
}

// TestSuspendedWebsiteTrustsNoStaleDeployment: the cache shows a Deployment that
// follows the branch, and pods that have gone on; the API server has one that
// stays. What is written then must not move the site.
func TestSuspendedWebsiteTrustsNoStaleDeployment(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.converge(newWebsite())
	stale := f.deployment()
	f.setStatusCommit(commitA)
	f.changeWebsite(newWebsite(suspend))
	f.reconcile(testKey)
	if got := workload.CommitOf(&f.deployment().Spec.Template.Spec); got != commitA {
		t.Fatalf("the pods stay on %q, want %q", got, commitA)
	}
	if err := f.childInformers.Apps().V1().Deployments().Informer().GetIndexer().Update(stale); err != nil {
		t.Fatal(err)
	}
	f.setStatusCommit(commitB)
	f.changeWebsite(newWebsite(suspend, withReplicas(3)))
	f.reconcile(testKey)
	if got := workload.CommitOf(&f.deployment().Spec.Template.Spec); got != commitA {
		t.Errorf("after a stale cache the pods stay on %q, want %q", got, commitA)
	}
}

// setStatusCommit stores a status that says only which commit is served, or
// nothing.
func (f *fixture) setStatusCommit(commit string) {
	f.Helper()
	website := f.website(testName)
	website.Status = v1beta1.WebsiteStatus{Commit: commit}
	if err := f.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), website, testNamespace); err != nil {
		f.Fatal(err)
	}
}
