package website

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

func suspend(site *v1beta1.Website) { site.Spec.Suspend = true }

func withCommit(commit string) func(*v1beta1.Website) {
	return func(site *v1beta1.Website) { site.Status.Commit = commit }
}

func TestKeptCommit(t *testing.T) {
	deployment := func(commit string) observedDeployment {
		return observedDeployment{found: true, child: buildDeployment(t, resources.KeptOn(newWebsite(), commit))}
	}
	following := observedDeployment{found: true, child: buildDeployment(t, newWebsite())}
	serving := func(commits ...string) []observedPod {
		var pods []observedPod
		for _, commit := range commits {
			pod := newObservedPod(commit)
			pod.Commit = commit
			pods = append(pods, pod)
		}
		return pods
	}
	unreachable := serving(commitB)
	unreachable[0].Reachable = false
	unobserved := newObservedPod(commitB)
	unobserved.observed = false

	// suspendedAt is a status of a generation of the spec.
	suspendedAt := func(generation int64) func(*v1beta1.Website) {
		return func(site *v1beta1.Website) {
			site.Generation = 2
			synced := condition(v1beta1.WebsiteSynced, metav1.ConditionUnknown, v1beta1.WebsiteReasonSuspended, "")
			synced.ObservedGeneration = generation
			site.Status.Conditions = []metav1.Condition{synced}
		}
	}

	for name, test := range map[string]struct {
		pass pass
		want string
	}{
		"a Deployment edited by hand":       {pass{site: newWebsite(suspend, withCommit(commitA), suspendedAt(2)), deployment: deployment(commitB), pods: serving(commitA)}, commitA},
		"the status is of an older spec":    {pass{site: newWebsite(suspend, withCommit(commitA), suspendedAt(1)), deployment: deployment(commitB), pods: serving(commitA)}, commitB},
		"not suspended":                     {pass{site: newWebsite(withCommit(commitA)), deployment: deployment(commitB)}, ""},
		"the Deployment remembers":          {pass{site: newWebsite(suspend, withCommit(commitA)), deployment: deployment(commitB), pods: serving(commitA)}, commitB},
		"what the pods serve":               {pass{site: newWebsite(suspend, withCommit(commitA)), deployment: following, pods: serving(commitB, commitB)}, commitB},
		"pods that differ have no commit":   {pass{site: newWebsite(suspend, withCommit(commitA)), deployment: following, pods: serving(commitA, commitB)}, ""},
		"pods that do not answer":           {pass{site: newWebsite(suspend, withCommit(commitA)), deployment: following, pods: unreachable}, ""},
		"pods that have not answered yet":   {pass{site: newWebsite(suspend, withCommit(commitA)), deployment: following, pods: []observedPod{unobserved}}, ""},
		"no pods":                           {pass{site: newWebsite(suspend, withCommit(commitA)), deployment: following}, commitA},
		"no Deployment, pods that differ":   {pass{site: newWebsite(suspend, withCommit(commitA)), pods: serving(commitA, commitB)}, commitA},
		"no Deployment, the status is left": {pass{site: newWebsite(suspend, withCommit(commitA))}, commitA},
		"nothing is left":                   {pass{site: newWebsite(suspend), deployment: following}, ""},
	} {
		if got := keptCommit(&test.pass, true); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	silent := pass{site: newWebsite(suspend, withCommit(commitA)), deployment: following, pods: []observedPod{unobserved}}
	if got := keptCommit(&silent, false); got != commitA {
		t.Errorf("nobody observes pods: %q, want %q", got, commitA)
	}
}

// buildDeployment returns what the builder makes of a Website, as the API server
// would.
func buildDeployment(t *testing.T, site *v1beta1.Website) *appsv1.Deployment {
	t.Helper()
	desired, err := resources.Deployment(site, testImages, "")
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(desired)
	if err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{}
	if err := json.Unmarshal(data, deployment); err != nil {
		t.Fatal(err)
	}
	return deployment
}

// TestSuspendedSiteStays lets everything happen to a suspended site that must not
// make it move on.
func TestSuspendedSiteStays(t *testing.T) {
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
		if got := resources.CommitOf(f.deployment()); got != want {
			t.Fatalf("%s the pods stay on %q, want %q", when, got, want)
		}
	}
	change(suspend)
	stays("while nobody knows a commit", "")

	f.setStatusCommit(commitA)
	change(suspend)
	stays("once it is known", commitA)

	f.setStatusCommit("")
	change(suspend)
	stays("when the status is lost", commitA)
	change(suspend, withReplicas(3))
	stays("when it is scaled", commitA)
	change(suspend, func(site *v1beta1.Website) { site.Spec.Source.Ref = &v1beta1.GitReference{Branch: "other"} })
	stays("when another branch is named", commitA)
	f.remove(f.deployment())
	f.syncCaches()
	change(suspend)
	stays("when the Deployment is deleted", commitA)

	change()
	stays("when it is resumed", "")
}

// TestSuspendedSiteTrustsNoStaleDeployment: the cache shows a Deployment that
// follows the branch, and pods that have gone on; the API server has one that
// stays. What is written then must not move the site.
func TestSuspendedSiteTrustsNoStaleDeployment(t *testing.T) {
	f := newFixture(t, newWebsite())
	f.converge(newWebsite())
	stale := f.deployment()
	f.setStatusCommit(commitA)
	f.changeWebsite(newWebsite(suspend))
	f.reconcile(testKey)
	if got := resources.CommitOf(f.deployment()); got != commitA {
		t.Fatalf("the pods stay on %q, want %q", got, commitA)
	}
	if err := f.childInformers.Apps().V1().Deployments().Informer().GetIndexer().Update(stale); err != nil {
		t.Fatal(err)
	}
	f.setStatusCommit(commitB)
	f.changeWebsite(newWebsite(suspend, withReplicas(3)))
	f.reconcile(testKey)
	if got := resources.CommitOf(f.deployment()); got != commitA {
		t.Errorf("after a stale cache the pods stay on %q, want %q", got, commitA)
	}
}

// setStatusCommit stores a status that says only which commit is served, or
// nothing.
func (f *fixture) setStatusCommit(commit string) {
	f.Helper()
	site := f.website(testName)
	site.Status = v1beta1.WebsiteStatus{Commit: commit}
	if err := f.sites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), site, testNamespace); err != nil {
		f.Fatal(err)
	}
}
