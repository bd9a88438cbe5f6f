package controller

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

func testReport() *Report {
	var r results
	for round := range 3 {
		seconds := float64(10 * (round + 1))
		r.add(floor, sample{scenario: create, seconds: seconds, ready: []float64{5}, changes: 2})
		r.add(product, sample{
			scenario: create, seconds: seconds + 1, ready: []float64{10, 20}, reported: []float64{1, 3000}, changes: 2,
			heap:  9 << 10,
			calls: calls{{"get", "configmaps"}: 4, {"patch", "configmaps"}: 2},
			cpu:   map[string]float64{controllerProcess: 1, "etcd": 2, "kube-apiserver": 3, "kwok": 4},
		})
		r.add(scaffold, sample{scenario: create, seconds: 100, calls: calls{{"create", "configmaps"}: 20},
			cpu: map[string]float64{controllerProcess: 4}})
		r.add(
			product, sample{scenario: restart, seconds: 2,
				calls: calls{{"list", "pods"}: 1, {"update", "websites/status"}: round / 2}},
		)
	}
	report := &Report{Head: measure.Head{Options: Quick(), CPUs: 2, LoadBefore: 3}, Measurements: r.measurements(Quick())}
	addGoals(report)
	return report
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	if err := measure.Write(testReport(), dir); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read Report
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if got := read.find(create, product); got == nil || got.Seconds != 21 || got.ReadyMillis.Median != 15 ||
		got.allCalls() != 6 || got.serverCPU() != 5 {
		t.Errorf("report.json has %+v", got)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"**The machine was busy**: its load average was 3.0",
		"| website-controller | 21.0 | 11.0, 21.0, 31.0 | 15.0 | 20.0 | 1500 | 3000 | 6 | 2 | 1.00 | 5.00 | 9.0 KiB | – |",
		"| website-controller | get 4, patch 2 | configmaps 2 |",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("report.md lacks %q:\n%s", want, text)
		}
	}
}

func TestGoals(t *testing.T) {
	report := testReport()
	if got := len(report.Goals); got != 7 {
		t.Errorf("got %d goals of a quick run: %+v", got, report.Goals)
	}
	report.Goals = nil
	report.Options.Websites = restartWebsites
	held := map[string]bool{}
	addGoals(report)
	for _, g := range report.Goals {
		held[g.Name] = g.Held
	}
	for name, want := range map[string]bool{
		"create: time until all are Ready, of the floor":                   true,
		"create: milliseconds from the available Deployment to Ready, p99": false,
		"create: requests, of scaffold":                                    true,
		"create: CPU time of the controller, of scaffold":                  true,
		"create: seconds, of scaffold":                                     true,
		"create: bytes on the heap per Website":                            true,
		"restart: seconds until all are reconciled":                        true,
		"restart: writes, in any round":                                    false,
	} {
		if got, measured := held[name]; !measured || got != want {
			t.Errorf("%s: held %v, measured %v", name, got, measured)
		}
	}
	if len(held) != 8 {
		t.Errorf("got %d goals: %v", len(held), held)
	}
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*measure.Options){
		"unknown contender": func(o *measure.Options) { o.Targets = []string{"none"} },
		"unknown scenario":  func(o *measure.Options) { o.Scenarios = []string{"none"} },
	} {
		o := Quick()
		if err := validate(o); err != nil {
			t.Fatal(err)
		}
		if change(&o); validate(o) == nil {
			t.Errorf("%s is valid", name)
		}
	}
}
