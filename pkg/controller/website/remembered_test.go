package website

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubesites/website-apiserver/pkg/controller/observer"
)

// TestRemembered: a controller that has just started has not heard the pods yet,
// and one that cannot reach them never will. What was reported stays until they
// say something else: a status that goes there and back is wrong in between.
func TestRemembered(t *testing.T) {
	failing := func(failure observer.Failure) func(*observedPod) {
		return func(p *observedPod) { p.observed, p.Reachable, p.Failure = true, true, failure }
	}
	for name, tweak := range map[string]func(*view){
		"path removed by a push": func(v *view) { v.pods[0].PathNotFound, v.pods[1].PathNotFound = true, true },
		"never fetched":          broken(failing(observer.FailureAuthentication)),
		"wrong path": broken(func(p *observedPod) {
			p.observed, p.Reachable, p.PathNotFound = true, true, true
		}),
		"repository too large": broken(failing(observer.FailureStorage)),
		"a rollout that cannot fetch, old pods serve": func(v *view) {
			v.deployment.Status.UpdatedReplicas, v.deployment.Status.Replicas = 1, 3
			added := newObservedPod("c")
			added.ready, added.Commit = false, ""
			failing(observer.FailureRefNotFound)(&added)
			v.pods = append(v.pods, added)
		},
		"remote away": func(v *view) { v.pods[1].Failure = observer.FailureUnreachable },
		"all well":    func(*view) {},
	} {
		t.Run(name, func(t *testing.T) {
			v := newView(tweak)
			v.site.Generation = 3
			for i := range v.pods {
				v.pods[i].Status.PodIP = "192.0.2.9"
			}
			reported := v.status()
			v.site.Status = reported
			heard := v.pods
			for silence, test := range map[string]struct {
				silent func(*observedPod)
				// also are conditions that stay, besides those of pods that are ready.
				also []string
			}{
				"not asked yet":     {func(p *observedPod) { p.Observation, p.observed = observer.Observation{}, false }, []string{"Synced", "Available", "Ready"}},
				"reached no longer": {func(p *observedPod) { p.Reachable = false }, []string{"Available", "Ready"}},
				"never reached":     {func(p *observedPod) { p.Observation, p.observed = observer.Observation{}, true }, []string{"Available", "Ready"}},
				"answers, and nobody knows yet whether it can fetch": {func(p *observedPod) {
					if p.Commit == "" && !p.PathNotFound {
						p.Observation = observer.Observation{Reachable: true, FollowingUnknown: true}
					}
				}, []string{"Synced", "Available", "Ready"}},
			} {
				v.pods = append([]observedPod(nil), heard...)
				for i := range v.pods {
					test.silent(&v.pods[i])
				}
				stays := test.also
				if v.updated() && v.isAvailable() {
					stays = append(stays, "Ready")
				}
				for _, kind := range stays {
					got, want := meta.FindStatusCondition(v.status().Conditions, kind), meta.FindStatusCondition(reported.Conditions, kind)
					if *got != *want {
						t.Errorf("%s: reported\n%+v\nwant\n%+v", silence, *got, *want)
					}
				}
			}
			// Another spec is another question.
			v.site.Generation++
			for i := range v.pods {
				v.pods[i].Observation, v.pods[i].observed = observer.Observation{}, false
			}
			if ready := meta.FindStatusCondition(v.status().Conditions, "Ready"); toldByPods.Has(ready.Reason) {
				t.Errorf("of another spec is reported: %+v", ready)
			}
		})
	}
}

// TestOneSilentPodIsNoProblem: what is over in the pods that answer is over, even
// if another one will never answer.
func TestOneSilentPodIsNoProblem(t *testing.T) {
	v := newView(func(v *view) { v.pods[0].PathNotFound, v.pods[1].PathNotFound = true, true })
	v.site.Status = v.status()
	v.pods[0].PathNotFound = false
	v.pods[1].Observation = observer.Observation{}
	if ready := meta.FindStatusCondition(v.status().Conditions, "Ready"); ready.Reason != "Serving" {
		t.Errorf("reported: %+v", ready)
	}
}
