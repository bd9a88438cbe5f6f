package website

import (
	"errors"
	"slices"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

func TestPodDisruptionBudgetSteps(t *testing.T) {
	const (
		create = "create PodDisruptionBudget kubia-website"
		update = "update PodDisruptionBudget kubia-website"
		remove = "delete poddisruptionbudgets kubia-website"
		scale  = "update Deployment kubia-website"
	)
	foreign := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace,
		Name: testDeployment, UID: "foreign"}}
	for name, test := range map[string]struct {
		from, to int32
		given    func(f *fixture)
		want     []string
		// wantResult is the result of the reconciliation.
		wantResult problem.Result
	}{
		"one pod needs none":            {from: 1, to: 1},
		"comes with the second":         {from: 1, to: 2, want: []string{scale, create}},
		"stays with the third":          {from: 2, to: 3, want: []string{scale}},
		"deleted with the last but one": {from: 2, to: 1, want: []string{scale, remove}},
		"deleted with all":              {from: 2, to: 0, want: []string{scale, remove}},
		"deleted by hand": {from: 2, to: 2, given: func(f *fixture) { f.remove(f.budget()) },
			want: []string{create}},
		"edited by hand": {from: 2, to: 2, given: func(f *fixture) {
			edit(f, testDeployment, func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = nil })
		}, want: []string{update}},
		"a foreign one is not adopted": {from: 1, to: 2, given: func(f *fixture) { f.store(foreign.DeepCopy()) },
			want: []string{scale}, wantResult: problem.Taken},
		"a foreign one is not deleted": {from: 2, to: 1, given: func(f *fixture) {
			f.remove(f.budget())
			theirs := foreign.DeepCopy()
			theirs.Labels = f.deployment().Labels
			f.store(theirs)
		}, want: []string{scale}},
		"replaced between look and deletion": {from: 2, to: 1, given: func(f *fixture) {
			fail(&f.kube.Fake, "delete", "poddisruptionbudgets", apierrors.NewConflict(schema.GroupResource{Resource: "x"}, "x",
				errors.New("uid")))
		}, want: []string{scale, remove}, wantResult: problem.Conflict},
		"deletion rejected": {from: 2, to: 1, given: func(f *fixture) {
			fail(&f.kube.Fake, "delete", "poddisruptionbudgets", errBroken)
		}, want: []string{scale, remove}, wantResult: problem.Failure},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newWebsite(withReplicas(test.from)))
			f.converge(newWebsite())
			if test.given != nil {
				test.given(f)
			}
			f.syncCaches()
			f.changeWebsite(newWebsite(withReplicas(test.to)))
			f.forgetHistory()
			if got := f.work(testKey); got != test.wantResult {
				t.Errorf("result %v, want %v", got, test.wantResult)
			}
			if got := f.childWrites(); !slices.Equal(got, test.want) {
				t.Errorf("writes %q, want %q", got, test.want)
			}
		})
	}
}

func (f *fixture) budget() *policyv1.PodDisruptionBudget {
	f.Helper()
	return must[*policyv1.PodDisruptionBudget](f, testDeployment)
}
