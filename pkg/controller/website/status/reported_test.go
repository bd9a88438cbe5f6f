package status

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubesites/website-apiserver/pkg/agent/git"
	"github.com/kubesites/website-apiserver/pkg/controller/website/workload"
)

// TestStillReported: a controller that has just started has not probed the pods yet, and one that
// cannot reach them never will. The last reported conditions stay until a pod reports otherwise: a
// status that changes back and forth is wrong in between.
func TestStillReported(t *testing.T) {
	failing := func(failure git.Reason) func(*Pod) {
		return func(p *Pod) { p.Observed, p.Reachable, p.Failure = true, true, failure }
	}
	for name, tweak := range map[string]func(*Input){
		"path removed by a push": func(in *Input) { in.Pods[0].PathNotFound, in.Pods[1].PathNotFound = true, true },
		"never fetched":          broken(failing(git.ReasonAuthentication)),
		"wrong path": broken(func(p *Pod) {
			p.Observed, p.Reachable, p.PathNotFound = true, true, true
		}),
		"repository too large": broken(failing(git.ReasonStorageFull)),
		"a rollout that cannot fetch, old pods serve": func(in *Input) {
			in.Deployment.Status.UpdatedReplicas, in.Deployment.Status.Replicas = 1, 3
			added := newPod("c")
			added.Ready, added.Commit = false, ""
			failing(git.ReasonRefNotFound)(&added)
			in.Pods = append(in.Pods, added)
		},
		"remote unreachable": func(in *Input) { in.Pods[1].Failure = git.ReasonUnreachable },
		"all well":           func(*Input) {},
	} {
		t.Run(name, func(t *testing.T) {
			in := newInput(tweak)
			in.Website.Generation = 3
			for i := range in.Pods {
				in.Pods[i].PodIP = "192.0.2.9"
			}
			reported := Compute(in)
			in.Website.Status = reported
			heard := in.Pods
			for silence, test := range map[string]struct {
				silent func(*Pod)
				// also lists conditions that stay, besides the conditions about ready pods.
				also []string
			}{
				"not probed yet": {func(p *Pod) { p.Observation, p.Observed = workload.Observation{}, false },
					[]string{"Synced", "Available", "Ready"}},
				"became unreachable": {func(p *Pod) { p.Reachable = false }, []string{"Available", "Ready"}},
				"never reached": {func(p *Pod) { p.Observation, p.Observed = workload.Observation{}, true },
					[]string{"Available", "Ready"}},
				"answers, but not whether it can fetch": {func(p *Pod) {
					if p.Commit == "" && !p.PathNotFound {
						p.Observation = workload.Observation{Reachable: true, FollowingUnknown: true}
					}
				}, []string{"Synced", "Available", "Ready"}},
			} {
				in.Pods = append([]Pod(nil), heard...)
				for i := range in.Pods {
					test.silent(&in.Pods[i])
				}
				stays := test.also
				if in.updated() && in.available() {
					stays = append(stays, "Ready")
				}
				for _, kind := range stays {
					got, want := meta.FindStatusCondition(Compute(in).Conditions, kind),
						meta.FindStatusCondition(reported.Conditions, kind)
					if *got != *want {
						t.Errorf("%s: reported\n%+v\nwant\n%+v", silence, *got, *want)
					}
				}
			}
			// The conditions of another spec do not stay.
			in.Website.Generation++
			for i := range in.Pods {
				in.Pods[i].Observation, in.Pods[i].Observed = workload.Observation{}, false
			}
			if ready := meta.FindStatusCondition(Compute(in).Conditions, "Ready"); probedReasons.Has(ready.Reason) {
				t.Errorf("of another spec is reported: %+v", ready)
			}
		})
	}
}
