package website

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kubesites/website-apiserver/pkg/controller/website/problem"
)

// TestReplacedBetweenReadAndWrite replaces a child by a foreign object after the
// controller has read it and before it writes.
func TestReplacedBetweenReadAndWrite(t *testing.T) {
	for name, test := range map[string]struct {
		replace func(f *fixture)
		wantUID string
	}{
		"deleted and created by another client": {
			replace: func(f *fixture) {
				f.remove(f.deployment())
				f.store(foreignDeployment())
			},
			wantUID: "foreign",
		},
		"deleted": {
			replace: func(f *fixture) { f.remove(f.deployment()) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.cacheWebsite(newWebsite())
			f.converge(newWebsite())
			f.addWebsite(newWebsite(withReplicas(4)))

			var once atomic.Bool
			f.kube.PrependReactor("patch", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
				if once.CompareAndSwap(false, true) {
					test.replace(f)
				}
				return false, nil, nil
			})
			if got := f.work(testKey); got != problem.Conflict {
				t.Errorf("result %v, want a conflict", got)
			}
			if got := f.writes(); !slices.Equal(got,
				[]string{"update Deployment kubia-website", "create PodDisruptionBudget kubia-website"}) {
				t.Errorf("writes: %q", got)
			}
			if got := f.events(); len(got) > 0 {
				t.Errorf("events: %q", got)
			}
			deployment, ok := live[*appsv1.Deployment](f, testDeployment)
			if ok != (test.wantUID != "") {
				t.Fatalf("there is a Deployment: %t", ok)
			}
			if ok && (string(deployment.GetUID()) != test.wantUID || len(deployment.GetOwnerReferences()) > 0) {
				t.Errorf("the foreign Deployment was touched: %v", deployment)
			}
		})
	}
}

// TestFailingAtEveryRequest interrupts a reconciliation at every request, before and after the
// request took effect, and expects the next one to finish.
func TestFailingAtEveryRequest(t *testing.T) {
	count := func(f *fixture) int { return len(f.kube.Actions()) + len(f.websites.Actions()) }

	scenarios := map[string]func(f *fixture){
		"create": func(f *fixture) { f.addWebsite(newWebsite(withStatus(9))) },
		"update": func(f *fixture) {
			f.cacheWebsite(newWebsite())
			f.converge(newWebsite())
			f.addWebsite(newWebsite(withReplicas(2), withStatus(9)))
			service := f.service()
			service.Labels["app"] = "mine"
			f.store(service)
			f.syncCaches()
			f.forgetHistory()
		},
		"another configuration": func(f *fixture) {
			f.cacheWebsite(newWebsite())
			f.converge(newWebsite())
			f.addWebsite(newWebsite(withPath("public"), withStatus(9)))
			f.syncCaches()
			f.forgetHistory()
		},
	}
	for name, set := range scenarios {
		probe := newFixture(t)
		set(probe)
		probe.reconcile(testKey)
		requests := count(probe)
		if requests < 4 {
			t.Fatalf("%s: only %d requests", name, requests)
		}
		for at := range requests {
			for _, effect := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/request %d/effect %t", name, at, effect), func(t *testing.T) {
					f := newFixture(t)
					set(f)
					var seen atomic.Int32
					broken := func(inner clienttesting.ReactionFunc) clienttesting.ReactionFunc {
						return func(action clienttesting.Action) (bool, runtime.Object, error) {
							if int(seen.Add(1)) != at+1 {
								return false, nil, nil
							}
							if effect {
								if _, _, err := inner(action); err != nil {
									return true, nil, err
								}
							}
							return true, nil, errBroken
						}
					}
					f.kube.PrependReactor("*", "*", broken(func(action clienttesting.Action) (bool, runtime.Object, error) {
						if action.GetVerb() == "patch" {
							return f.applyLikeAServer(action)
						}
						if action.GetVerb() == "delete" {
							return clienttesting.ObjectReaction(f.tracker)(action)
						}
						return true, nil, nil
					}))
					f.websites.PrependReactor("*", "*", broken(clienttesting.ObjectReaction(f.websites.Tracker())))

					if problems := f.reconcile(testKey); len(problems) == 0 {
						t.Fatal("the reconciliation did not notice")
					}
					// The next reconciliation starts from caches without its writes, the one after
					// that from fresh ones.
					f.refreshWebsites()
					if problems := f.reconcile(testKey); len(problems) > 0 {
						t.Fatalf("the next reconciliation: %v", problems)
					}
					f.refreshWebsites()
					f.syncCaches()
					f.forgetHistory()
					f.reconcile(testKey)
					if got := f.requests(); len(got) > 0 {
						t.Errorf("there was something left to do: %q", got)
					}
					f.deployment()
					f.service()
					if names := f.configMapNames(); !slices.Equal(names, []string{configMapName(f.website(testName))}) {
						t.Errorf("there are the ConfigMaps %q", names)
					}
				})
			}
		}
	}
}
