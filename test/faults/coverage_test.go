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

// notCalled maps each rule of the controller's roles whose calls cannot fail here to the reason.
var notCalled = withUnusedFeatures(map[string]string{
	"update websites.mycontroller.nevermosby.io/finalizers": "asked by admission, where children block the deletion of " +
		"their owner",
	"create configmaps":                  "required by a patch that creates the object",
	"create services":                    "required by a patch that creates the object",
	"create deployments.apps":            "required by a patch that creates the object",
	"create poddisruptionbudgets.policy": "required by a patch that creates the object",
	"create leases.coordination.k8s.io":  "there are as many controllers as points here, so none leads",
	"get leases.coordination.k8s.io":     "there are as many controllers as points here, so none leads",
	"update leases.coordination.k8s.io":  "there are as many controllers as points here, so none leads",
	"create secrets":                     "the keys are there already: pkg/controller/agentkeys tests this",
	"update secrets":                     "the keys change once a month: pkg/controller/agentkeys tests this",
})

// withUnusedFeatures adds the rules of features without a scenario: hosts and previews, whose calls
// are covered by TestHosts and TestPreviews in test/integration/controller.
func withUnusedFeatures(notCalled map[string]string) map[string]string {
	for _, resource := range []string{
		"httproutes.gateway.networking.k8s.io", "listenersets.gateway.networking.k8s.io",
		"gateways.gateway.networking.k8s.io", "ingresses.networking.k8s.io",
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

// coverage records the faults of each call.
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

// report logs the coverage, and fails if a call in the controller's roles has not met every fault.
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
