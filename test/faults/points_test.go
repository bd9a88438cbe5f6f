package faults

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// notCalled are the rules of the controller's roles for which there is no call
// to fail here, and why.
var notCalled = withUnusedFeatures(map[string]string{
	"update websites.mycontroller.nevermosby.io/finalizers": "asked by admission, where children block the deletion of their owner",
	"create configmaps":                  "asked for a patch that applies what does not exist",
	"create services":                    "asked for a patch that applies what does not exist",
	"create deployments.apps":            "asked for a patch that applies what does not exist",
	"create poddisruptionbudgets.policy": "asked for a patch that applies what does not exist",
	"create leases.coordination.k8s.io":  "there are as many controllers as points here, so none leads",
	"get leases.coordination.k8s.io":     "there are as many controllers as points here, so none leads",
	"update leases.coordination.k8s.io":  "there are as many controllers as points here, so none leads",
	"create secrets":                     "the keys are there already: pkg/controller/agentkeys tests this",
	"update secrets":                     "the keys change once a month: pkg/controller/agentkeys tests this",
})

// withUnusedFeatures adds the rules of what no scenario has: hosts and previews, whose calls are
// those of TestHosts and TestPreviews in test/integration/controller.
func withUnusedFeatures(notCalled map[string]string) map[string]string {
	for _, resource := range []string{
		"httproutes.gateway.networking.k8s.io", "listenersets.gateway.networking.k8s.io", "gateways.gateway.networking.k8s.io", "ingresses.networking.k8s.io",
	} {
		for _, verb := range []string{"get", "list", "watch", "create", "patch", "delete"} {
			notCalled[verb+" "+resource] = "no Website of the scenarios has hosts"
		}
	}
	for _, verb := range []string{"create", "patch", "delete", "preview"} {
		notCalled[verb+" websites."+v1beta1.GroupName] = "no Website of the scenarios has previews"
	}
	return notCalled
}

// coverage is which faults have met which calls.
type coverage struct {
	mu sync.Mutex
	// struck counts the points by rule and fault.
	struck map[string]map[string]int
	points int
}

func (c *coverage) add(f *fault, at call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.points++
	if c.struck[at.rule()] == nil {
		c.struck[at.rule()] = map[string]int{}
	}
	c.struck[at.rule()][f.name]++
}

// maxPlays is how often a scenario is played until the controller makes the call that is
// to meet a fault. repeatedPlays is that for calls that it has made before in the scenario:
// how often a status is written depends on what else the cluster does.
const (
	maxPlays      = 15
	repeatedPlays = 4
)

// costlyPlays is how many plays in a row show that a cost is that of the fault.
const costlyPlays = 3

// TestEveryCall runs every scenario undisturbed, and then for every call that the
// controller made and everything that can happen to a call, until the fault has met the
// call.
func TestEveryCall(t *testing.T) {
	observer, err := newObserver()
	if err != nil {
		t.Fatal(err)
	}
	wanted, err := rules()
	if err != nil {
		t.Fatal(err)
	}
	covered := &coverage{struck: map[string]map[string]int{}}
	t.Run("scenarios", func(t *testing.T) {
		for _, s := range scenarios {
			t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				undisturbed := s.undisturbed(t, observer)
				t.Logf("calls: %v", undisturbed.calls)
				t.Logf("events: %v", undisturbed.reported)
				for _, at := range undisturbed.calls {
					for _, f := range faults {
						if !s.exposes(at, f) {
							continue
						}
						t.Run(fmt.Sprintf("%s/%s", at, f.name), func(t *testing.T) {
							t.Parallel()
							if s.meet(t, observer, f, at, undisturbed) {
								covered.add(f, at)
							}
						})
					}
				}
			})
		}
	})
	covered.report(t, wanted)
}

// exposes reports whether a call is to meet a fault. One fault of each kind is enough for a
// call that has met the others in another scenario, or the first time it was made.
func (s scenario) exposes(at call, f *fault) bool {
	return f.meets(at.site) && !(s.listing && at.name != "") && (f.kind || !s.again && at.n == 0)
}

// meet plays a scenario until the fault has met the call, and reports whether that cost
// nothing. What a fault costs it costs each time; an additional write of a single play
// answers something else that happened in the cluster, so only costs of several plays in a
// row are a problem. Without a fault, each play counts.
func (s scenario) meet(t *testing.T, o *observer, f *fault, at call, want outcome) bool {
	t.Helper()
	// The keys of agents are read again after a time, which plays reach on a busy machine only.
	repeated := at.n > 0 || at.verb == "get" && at.resource == "secrets"
	struck, plays := 0, maxPlays
	if repeated {
		plays = repeatedPlays
	}
	for range plays {
		have := s.play(t, o, f, at, want.state)
		if difference := have.state.diff(want.state); difference != "" {
			t.Errorf("in the end:\n%s", difference)
			return false
		}
		if f != nil && !have.struck {
			continue
		}
		struck++
		costs := have.costs(f, at, want)
		if len(costs) == 0 {
			return true
		}
		t.Logf("play %d: %s", struck, strings.Join(costs, "; "))
		if struck == costlyPlays {
			t.Errorf("each of %d plays costs:\n%s", struck, strings.Join(costs, "\n"))
			return false
		}
	}
	if repeated {
		// Another call has met the fault: report checks that calls of all kinds have.
		t.Logf("the controller repeated this call in %d of %d plays", struck, plays)
		return false
	}
	t.Errorf("the controller made this call in %d of %d plays, so it has met no fault often enough", struck, plays)
	return false
}

// costs returns what a fault has cost: writes and events that there are without it less
// often, and events that are missing.
func (have outcome) costs(f *fault, at call, want outcome) []string {
	var costs []string
	for site, n := range have.settled {
		costs = append(costs, fmt.Sprintf("a controller that starts over what is settled did %s %d times", site, n))
	}
	for site, n := range have.writes {
		most := want.writes[site]
		if f != nil && f.sent && site == at.site {
			most++ // Nothing tells that a write was done whose answer was lost.
		}
		if site.resource == "services" {
			// The API server releases a node port after it has reported the deletion of the
			// Service: a Service that comes back with it is tried six times.
			most += 5
		}
		if site.verb == "patch" && n > most {
			costs = append(costs, fmt.Sprintf("%s was done %d times, want %d", site, n, most))
		}
	}
	for about, n := range have.reported {
		if n > want.reported[about] {
			costs = append(costs, fmt.Sprintf("event %q was reported %d times, want %d", about, n, want.reported[about]))
		}
	}
	if f != nil && (f.sent || f.crash) || at.resource == "events.events.k8s.io" {
		return costs // An event that was lost with its process, or that a restarted controller cannot know to be due, is not reported later.
	}
	for about, n := range want.due {
		// A problem may be over before the controller reconciles.
		if strings.HasPrefix(about, "Normal") && have.reported[about] < n {
			costs = append(costs, fmt.Sprintf("event %q was reported %d times, want %d", about, have.reported[about], n))
		}
	}
	return costs
}

// report says what was covered, and fails when a call that the controller may
// make met no fault, or not all of them.
func (c *coverage) report(t *testing.T, wanted sets.Set[string]) {
	t.Helper()
	t.Logf("%d points covered", c.points)
	for rule := range c.struck {
		wanted.Insert(rule)
	}
	for _, rule := range sets.List(wanted) {
		if why, ok := notCalled[rule]; ok {
			if c.struck[rule] != nil {
				t.Errorf("%s is called, so it does not belong into notCalled (%s)", rule, why)
			}
			continue
		}
		var line []string
		for _, f := range faults {
			verb, _, _ := strings.Cut(rule, " ")
			if !f.meets(site{verb: verb}) {
				continue
			}
			n := c.struck[rule][f.name]
			line = append(line, fmt.Sprintf("%s %d", f.name, n))
			if n == 0 {
				t.Errorf("%s has not met: %s", rule, f.name)
			}
		}
		t.Logf("%s: %s", rule, strings.Join(slices.Clip(line), ", "))
	}
}
