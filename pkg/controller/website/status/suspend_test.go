package status

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/resources"
)

func suspend(website *v1beta1.Website) { website.Spec.Suspend = new(true) }

func withCommit(commit string) func(*v1beta1.Website) {
	return func(website *v1beta1.Website) { website.Status.Commit = commit }
}

func TestKeptCommit(t *testing.T) {
	deployment := func(commit string) *appsv1.Deployment {
		return buildDeployment(t, resources.KeptOn(newWebsite(), commit))
	}
	following := buildDeployment(t, newWebsite())
	serving := func(commits ...string) []Pod {
		var pods []Pod
		for _, commit := range commits {
			pod := newPod(commit)
			pod.Commit = commit
			pods = append(pods, pod)
		}
		return pods
	}
	unreachable := serving(commitB)
	unreachable[0].Reachable = false
	unobserved := newPod(commitB)
	unobserved.Observed = false

	// suspendedAt is a status of a generation of the spec.
	suspendedAt := func(generation int64) func(*v1beta1.Website) {
		return func(website *v1beta1.Website) {
			website.Generation = 2
			synced := condition(v1beta1.WebsiteSynced, metav1.ConditionUnknown, v1beta1.WebsiteReasonSuspended, "")
			synced.ObservedGeneration = generation
			website.Status.Conditions = []metav1.Condition{synced}
		}
	}

	fixedOn := func(commit string) func(*v1beta1.Website) {
		return func(website *v1beta1.Website) {
			website.Spec.Source.Git.Ref = &v1beta1.GitReference{Commit: commit}
		}
	}
	pinnedTo := func(commit string) func(*v1beta1.Website) {
		return func(website *v1beta1.Website) { website.Spec.Pin = pinTo(commit) }
	}

	for name, test := range map[string]struct {
		in   Input
		want string
	}{
		"a Deployment edited by hand":       {Input{Website: newWebsite(suspend, withCommit(commitA), suspendedAt(2)), Deployment: deployment(commitB), Pods: serving(commitA)}, commitA},
		"the status is of an older spec":    {Input{Website: newWebsite(suspend, withCommit(commitA), suspendedAt(1)), Deployment: deployment(commitB), Pods: serving(commitA)}, commitB},
		"not suspended":                     {Input{Website: newWebsite(withCommit(commitA)), Deployment: deployment(commitB)}, ""},
		"the Deployment records it":         {Input{Website: newWebsite(suspend, withCommit(commitA)), Deployment: deployment(commitB), Pods: serving(commitA)}, commitB},
		"what the pods serve":               {Input{Website: newWebsite(suspend, withCommit(commitA)), Deployment: following, Pods: serving(commitB, commitB)}, commitB},
		"rolled back from a fixed commit":   {Input{Website: newWebsite(suspend, withCommit(commitA), fixedOn(commitB), pinnedTo(commitA)), Deployment: deployment(commitB), Pods: serving(commitA)}, commitA},
		"the fixed commit is not served":    {Input{Website: newWebsite(suspend, withCommit(commitA), fixedOn(commitB)), Deployment: deployment(commitB), Pods: serving(commitA)}, commitA},
		"the fixed commit is served":        {Input{Website: newWebsite(suspend, withCommit(commitB), fixedOn(commitB)), Deployment: deployment(commitB), Pods: serving(commitB)}, commitB},
		"kept before it was pinned":         {Input{Website: newWebsite(suspend, withCommit(commitA), pinnedTo(commitA)), Deployment: deployment(commitB), Pods: serving(commitA)}, commitB},
		"pods that differ have no commit":   {Input{Website: newWebsite(suspend, withCommit(commitA)), Deployment: following, Pods: serving(commitA, commitB)}, ""},
		"pods that do not answer":           {Input{Website: newWebsite(suspend, withCommit(commitA)), Deployment: following, Pods: unreachable}, ""},
		"pods that have not answered yet":   {Input{Website: newWebsite(suspend, withCommit(commitA)), Deployment: following, Pods: []Pod{unobserved}}, ""},
		"no pods":                           {Input{Website: newWebsite(suspend, withCommit(commitA)), Deployment: following}, commitA},
		"no Deployment, pods that differ":   {Input{Website: newWebsite(suspend, withCommit(commitA)), Pods: serving(commitA, commitB)}, commitA},
		"no Deployment, the status is left": {Input{Website: newWebsite(suspend, withCommit(commitA))}, commitA},
		"nothing is left":                   {Input{Website: newWebsite(suspend), Deployment: following}, ""},
	} {
		test.in.Probing = true
		if got := KeptCommit(&test.in); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	silent := Input{Website: newWebsite(suspend, withCommit(commitA)), Deployment: following, Pods: []Pod{unobserved}}
	if got := KeptCommit(&silent); got != commitA {
		t.Errorf("commit observation disabled: %q, want %q", got, commitA)
	}
	silent.Website.Status.Commit = ""
	if got := suspension(&silent); got == nil || got.reason != v1beta1.WebsiteReasonNotObserved {
		t.Errorf("commit observation disabled, and the commit never known: %+v, want %s", got, v1beta1.WebsiteReasonNotObserved)
	}
	for name, before := range map[string]string{"never known": "", "known once": commitA} {
		silent.Website.Status.Commit, silent.Website.Spec.Pin = before, pinTo(commitB)
		if got, found := KeptCommit(&silent), suspension(&silent); got != commitB || found == nil || found.reason != v1beta1.WebsiteReasonSuspended {
			t.Errorf("commit observation disabled, pinned, the commit %s: %q and %+v, want the pin", name, got, found)
		}
	}
	silent.Deployment = deployment(commitA)
	if got := KeptCommit(&silent); got != commitA {
		t.Errorf("commit observation disabled, pinned after it was suspended: %q, want %q", got, commitA)
	}
	silent.Website.Status.Commit, silent.Website.Spec.Pin = "", nil
	silent.Website.Spec.Source.Git.Ref = &v1beta1.GitReference{Commit: commitB}
	silent.Deployment = deployment(commitB)
	if got := KeptCommit(&silent); got != commitB {
		t.Errorf("commit observation disabled, a fixed commit: %q, want %q", got, commitB)
	}
}

// buildDeployment returns what the builder makes of a Website, as the API server
// would.
func buildDeployment(t *testing.T, website *v1beta1.Website) *appsv1.Deployment {
	t.Helper()
	desired, err := resources.Deployment(website, resources.Installation{}, "")
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
