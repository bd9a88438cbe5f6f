package website

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

func TestOrphans(t *testing.T) {
	orphan := func(f *fixture) { edit(f, testDeployment, func(d *appsv1.Deployment) { d.OwnerReferences = nil }) }
	deleting := metav1.Now()
	for name, test := range map[string]struct {
		given func(f *fixture)
		// wantAdopted is false when the Deployment must stay as it is.
		wantAdopted bool
		wantProblem problem.Result
	}{
		"reference removed by hand": {given: orphan, wantAdopted: true},
		"left by an earlier Website of the same name": {
			given: func(f *fixture) {
				orphan(f)
				edit(f, testConfigMap, func(c *corev1.ConfigMap) { c.OwnerReferences = nil })
				edit(f, testDeployment+"-npsvc", func(s *corev1.Service) { s.OwnerReferences = nil })
				f.changeWebsite(newWebsite(func(website *v1beta1.Website) { website.UID = "another" }))
			},
			wantAdopted: true,
		},
		"labels of another Website": {
			given: func(f *fixture) {
				edit(f, testDeployment, func(d *appsv1.Deployment) { d.OwnerReferences, d.Labels["controller"] = nil, "other" })
			},
			wantProblem: problem.Taken,
		},
		"our labels on an object of another manager": {
			given: func(f *fixture) {
				labels := f.deployment().Labels
				f.remove(f.deployment())
				foreign := foreignDeployment()
				foreign.Labels = labels
				f.store(foreign)
			},
			wantProblem: problem.Taken,
		},
		"on its way out": {
			given: func(f *fixture) {
				orphan(f)
				edit(f, testDeployment, func(d *appsv1.Deployment) { d.DeletionTimestamp, d.Finalizers = &deleting, []string{"x"} })
			},
			wantProblem: problem.Taken,
		},
		"in other hands": {
			given: func(f *fixture) {
				edit(f, testDeployment, func(d *appsv1.Deployment) {
					d.OwnerReferences = ofShop()
				})
			},
			wantProblem: problem.Taken,
		},
		"the Website is going, and the cache does not show it": {
			given: func(f *fixture) {
				orphan(f)
				website := f.website(testName)
				website.DeletionTimestamp, website.Finalizers = &deleting, []string{"orphan"}
				if err := f.websites.Tracker().Update(v1beta1.SchemeGroupVersion.WithResource("websites"), website,
					testNamespace); err != nil {
					f.Fatal(err)
				}
			},
			wantProblem: problem.Conflict,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newWebsite())
			f.converge(newWebsite())
			test.given(f)
			f.syncCaches()
			f.forgetHistory()
			before := f.deployment()

			problems := f.reconcile(testKey)
			after := f.deployment()
			if !test.wantAdopted {
				if len(problems) == 0 || problems[0].Result != test.wantProblem {
					t.Errorf("problems: %v", problems)
				}
				if after.ResourceVersion != before.ResourceVersion {
					t.Errorf("it was written: %v", after.ObjectMeta)
				}
				return
			}
			current, err := f.controller.lister.Websites(testNamespace).Get(testName)
			if err != nil {
				t.Fatal(err)
			}
			if !metav1.IsControlledBy(after, current) || after.UID != before.UID {
				t.Errorf("problems %v, metadata %+v", problems, after.ObjectMeta)
			}
			if got := f.events(); !slices.Contains(got, `Normal Adopted Adopted Deployment "kubia-website"`) {
				t.Errorf("events: %q", got)
			}
		})
	}
}
