package faults

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
)

// notCalled are the rules of the controller's roles for which there is no call
// to fail here, and why.
var notCalled = map[string]string{
	"update websites.mycontroller.nevermosby.io/finalizers": "asked by admission, where children block the deletion of their owner",
	"create configmaps":                  "asked for a patch that applies what does not exist",
	"create services":                    "asked for a patch that applies what does not exist",
	"create deployments.apps":            "asked for a patch that applies what does not exist",
	"create poddisruptionbudgets.policy": "asked for a patch that applies what does not exist",
	"get pods/log":                       "asked with commit observation, which takes a real node",
	"list events.events.k8s.io":          "asked with commit observation, of pods that a real node has evicted",
	"create leases.coordination.k8s.io":  "there are as many controllers as points here, so none leads",
	"get leases.coordination.k8s.io":     "there are as many controllers as points here, so none leads",
	"update leases.coordination.k8s.io":  "there are as many controllers as points here, so none leads",
}

// coverage is which faults have met which calls.
type coverage struct {
	mu sync.Mutex
	// struck counts the points by rule and fault.
	struck map[string]map[string]int
	// missed are calls of the undisturbed run that were not made again: how
	// often a status is written depends on what else the cluster is doing.
	missed []string
	points int
}

func (c *coverage) add(s scenario, f *fault, at call, struck bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !struck {
		c.missed = append(c.missed, fmt.Sprintf("%s: %s: %s", s.name, at, f.name))
		return
	}
	c.points++
	if c.struck[at.rule()] == nil {
		c.struck[at.rule()] = map[string]int{}
	}
	c.struck[at.rule()][f.name]++
}

// TestEveryCall runs every scenario undisturbed, and then once for every call
// that the controller made and everything that can happen to a call.
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
				want := s.reference(t, observer)
				undisturbed := s.play(t, observer, nil, call{}, want)
				t.Logf("calls: %v", undisturbed.calls)
				t.Logf("told: %v", undisturbed.told)
				for _, at := range undisturbed.calls {
					for _, f := range faults {
						if !f.meets(at.site) || s.listing && at.name != "" || s.again && !f.kind {
							continue
						}
						t.Run(fmt.Sprintf("%s/%s", at, f.name), func(t *testing.T) {
							t.Parallel()
							disturbed := s.play(t, observer, f, at, want)
							covered.add(s, f, at, disturbed.struck)
							compare(t, f, at, disturbed, undisturbed)
						})
					}
				}
			})
		}
	})
	covered.report(t, wanted)
}

// compare checks that a fault has cost nothing: what was written, and what users
// were told, is as without it.
func compare(t *testing.T, f *fault, at call, have, want outcome) {
	t.Helper()
	if difference := have.state.diff(want.state); difference != "" {
		t.Errorf("in the end:\n%s", difference)
	}
	for site, n := range have.writes {
		if site.verb == "patch" && n > want.writes[site] {
			t.Errorf("%s was done %d times, want %d", site, n, want.writes[site])
		}
	}
	for about, n := range have.told {
		if n > want.told[about] {
			t.Errorf("users were told %q %d times, want %d", about, n, want.told[about])
		}
	}
	if f.sent || f.crash || at.resource == "events.events.k8s.io" {
		return // Events are news: what died with its process, or was not known to be new, is not told later.
	}
	for about, n := range want.told {
		// What was wrong for a moment may be over before anybody notices.
		if strings.HasPrefix(about, "Normal") && have.told[about] != n {
			t.Errorf("users were told %q %d times, want %d", about, have.told[about], n)
		}
	}
}

// report says what was covered, and fails when a call that the controller may
// make met no fault, or not all of them.
func (c *coverage) report(t *testing.T, wanted sets.Set[string]) {
	t.Helper()
	t.Logf("%d points covered, %d calls of the undisturbed runs were not made again", c.points, len(c.missed))
	for _, missed := range c.missed {
		t.Logf("not made again: %s", missed)
	}
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
