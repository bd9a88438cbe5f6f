package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/framework"
)

// memory is the memory use of containers, in bytes, by name: the memory of their processes,
// and the same with pages of files that the kernel would not reclaim at once.
type memory map[string]struct{ rss, workingSet uint64 }

// String returns the values in MiB.
func (m memory) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, fmt.Sprintf("%s %.1f MiB (working set %.1f MiB)", name, float64(m[name].rss)/(1<<20),
			float64(m[name].workingSet)/(1<<20)))
	}
	return strings.Join(all, ", ")
}

// observe reads the use of the containers of a site from the kubelet, and keeps the maximum.
func (m memory) observe(t *testing.T, s *site) {
	t.Helper()
	node := s.kubectl(t, "get", "pods", "--selector=controller="+s.name, "--output=jsonpath={.items[0].spec.nodeName}")
	var summary struct {
		Pods []struct {
			PodRef     struct{ Name, Namespace string }
			Containers []struct {
				Name   string
				Memory struct{ RSSBytes, WorkingSetBytes uint64 }
			}
		}
	}
	if err := json.Unmarshal([]byte(framework.Kubectl(t, "get", "--raw", "/api/v1/nodes/"+node+"/proxy/stats/summary")),
		&summary); err != nil {
		t.Fatal(err)
	}
	for _, pod := range summary.Pods {
		if pod.PodRef.Namespace != s.namespace {
			continue
		}
		for _, c := range pod.Containers {
			most := m[c.Name]
			most.rss, most.workingSet = max(most.rss, c.Memory.RSSBytes), max(most.workingSet, c.Memory.WorkingSetBytes)
			m[c.Name] = most
		}
	}
}
