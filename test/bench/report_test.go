package bench

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

func testReport() *Report {
	const ours = "v1beta1 <proxied> JSON"
	return &Report{
		Head: measure.Head{Options: Quick(), CPUs: 2, LoadBefore: 3}, Targets: []string{ours, definition},
		EncodedBytes: map[string]int{ours: 3000, definition: 2900},
		Data: []DataSize{
			{Data: "definition", Objects: 10, StoredBytes: 2468,
				HeapBytes: map[string]int64{"kube-apiserver": 20 << 20, "website-apiserver": 5 << 20}},
			{Data: "websites", Objects: 10, StoredBytes: 1234, HeapBytes: map[string]int64{"website-apiserver": 5 << 20},
				ListedHeapBytes: map[string]int64{"website-apiserver": 7 << 20}},
		},
		Memory: []Memory{{Round: 1, Bytes: map[string]int64{"etcd": 1 << 20}, PeakBytes: map[string]int64{"etcd": 2 << 20}}},
		Measurements: []Measurement{
			{Operation: "list 10", Target: ours, MedianMillis: 5, CPUMillis: 6, FirstByteMillis: 1,
				CPUMillisByProcess: map[string]float64{"etcd": 1}, BodyBytes: 100},
			{Operation: "list 10", Target: definition, MedianMillis: 10, CPUMillis: 24, BodyBytes: 100},
			{Operation: "create", Target: ours, MedianMillis: 1},
		},
	}
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	report := testReport()
	if err := measure.Write(report, dir); err != nil {
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
	if got := read.find("list 10", definition); got == nil || got.CPUMillis != 24 {
		t.Errorf("report.json has %+v", got)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"**The machine was busy**: its load average was 3.0",
		"| v1beta1 <proxied> JSON | 0.00 | 5.00 | 0.00 | 1.00 | 6.00 | etcd 1.00 | 0 | 0.50 | 0.25 |",
		"| list 10 | 6.00 (5.00) | 24.0 (10.0) |\n| create | 0.00 (1.00) | – |",
		"| v1beta1 <proxied> JSON | 3000 |",
		"| websites | 10 | 1234 | website-apiserver 5 MiB | website-apiserver 7 MiB |",
		"| 1 | 1 MiB (2 MiB) |",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("report.md lacks %q:\n%s", want, text)
		}
	}
}

func TestPlots(t *testing.T) {
	plots := testReport().Plots()
	if len(plots) != 2 {
		t.Errorf("got %d plots: %v", len(plots), measure.SortedKeys(plots))
	}
	for name, plot := range plots {
		decoder := xml.NewDecoder(strings.NewReader(plot))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s is not XML: %v\n%s", name, err, plot)
			}
		}
	}
	// The longest bar has the whole width, the other one quarter of it.
	for _, want := range []string{`width="500.0"`, `width="125.0"`, "v1beta1 &lt;proxied&gt; JSON"} {
		if !strings.Contains(plots["lists-cpu.svg"], want) {
			t.Errorf("the plot lacks %s:\n%s", want, plots["lists-cpu.svg"])
		}
	}
}

func TestCompare(t *testing.T) {
	ratio := func(operation, metric string, lowest, highest float64) Range {
		return Range{Operation: operation, Metric: metric, Target: "v1beta1 <proxied> JSON", Against: definition,
			Min: lowest, Max: highest}
	}
	tests := map[string]struct {
		given Range
		want  Verdict
	}{
		"within the range": {ratio("list 10", "time", 0.4, 0.6), Within},
		"above the range":  {ratio("list 10", "cpu", 0.1, 0.2), Worse},
		"of the heap":      {Range{Metric: "heap", Target: "websites", Against: "definition", Min: 0.1, Max: 0.2}, Within},
		"of etcd": {Range{Metric: "stored", Target: "websites", Against: "definition", Min: 0.1,
			Max: 0.4}, Worse},
		"of other objects":    {Range{Metric: "stored", Target: "flunders", Against: "definition", Min: 0.1, Max: 2}, Worse},
		"below the range":     {ratio("list 10", "bytes", 1.1, 2), Better},
		"not measured beside": {ratio("create", "time", 0, 2), Worse},
		"not measured at all": {ratio("delete", "time", 0, 2), Worse},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report := testReport()
			worse := report.Compare([]Range{test.given})
			if got := report.Comparisons[0]; got.Verdict != test.want || (worse == 1) != (test.want == Worse) {
				t.Errorf("got %d worse, and %+v", worse, got)
			}
		})
	}
}

// TestRanges: each committed range is of something that a quick run measures.
func TestRanges(t *testing.T) {
	ranges, err := Ranges()
	if err != nil {
		t.Fatal(err)
	}
	operations := map[string]bool{}
	for _, name := range []string{"create", "get", "get, sequential", "patch", "server-side apply",
		"status update", "delete"} {
		operations[name] = true
	}
	for _, form := range listForms(Quick()) {
		operations[form.name] = true
	}
	for _, n := range Quick().Watchers {
		operations[fmt.Sprintf("event to %d watchers", n)] = true
	}
	all := Quick().Websites * len(dataNamespaces)
	operations[fmt.Sprintf("WatchList of %d", all)] = true
	operations[fmt.Sprintf("list %d, the first", all)] = true
	targets := map[string]bool{
		"v1beta1 proxied JSON": true, "v1beta1 proxied protobuf": true, "v1alpha1 proxied JSON": true,
		"v1alpha1 proxied protobuf": true,
		"v1beta1 direct JSON":       true, definition: true, builtIn: true, original: true,
		originalAs("v1beta1"): true, originalAs("v1alpha1"): true,
	}
	metrics := map[string]bool{"time": true, "firstByte": true, "cpu": true, "bytes": true}
	sizes := map[string]bool{"stored": true, "heap": true, "listedHeap": true}
	for _, r := range ranges {
		if r.Operation == "" && sizes[r.Metric] && r.Target == "websites" && r.Against == "definition" &&
			r.Min > 0 && r.Min < r.Max {
			continue
		}
		if !metrics[r.Metric] || !operations[r.Operation] || !targets[r.Target] || !targets[r.Against] || r.Min <= 0 ||
			r.Min >= r.Max {
			t.Errorf("invalid range %+v", r)
		}
	}
}

// TestGoals: a goal holds if all that was measured of it does, and is left out if nothing was.
func TestGoals(t *testing.T) {
	const ours = "v1beta1 proxied JSON"
	measured := func(operation, target string, cpu, median, perSecond float64) Measurement {
		return Measurement{Operation: operation, Target: target, CPUMillis: cpu, MedianMillis: median, PerSecond: perSecond}
	}
	report := &Report{Head: measure.Head{Options: measure.Options{Websites: 10}}, Measurements: []Measurement{
		measured("list 10", ours, 2, 0, 0), measured("list 10", definition, 10, 0, 0),
		measured("list 20", ours, 4, 0, 0), measured("list 20", definition, 10, 0, 0),
		measured("create", ours, 0, 0, 200), measured("create", definition, 0, 0, 100),
		measured("delete", ours, 0, 0, 100), measured("delete", definition, 0, 0, 100),
		measured("get, sequential", ours, 0, 1.2, 0), measured("get, sequential", definition, 0, 1, 0),
	}}
	want := []measure.Goal{
		{Name: "v1beta1: lists as JSON, cpu", Limit: 0.35, Values: []float64{0.2, 0.4}},
		{Name: "v1beta1: create, get, patch, delete, per second", Limit: 1, AtLeast: true,
			Values: []float64{2, 1}, Held: true},
		{Name: "v1beta1: get, sequential, milliseconds more", Limit: 0.3, Values: []float64{0.2}, Held: true},
	}
	addGoals(report)
	got := report.Goals
	for _, goal := range got {
		for i, value := range goal.Values {
			goal.Values[i] = math.Round(value*1000) / 1000
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("other goals than expected (-want +got):\n%s", diff)
	}
	text := measure.Markdown(report)
	for _, line := range []string{"| v1beta1: lists as JSON, cpu | ≤ 0.35 | 0.20, 0.40 | no |",
		"per second | ≥ 1.00 | 2.00, 1.00 | yes |"} {
		if !strings.Contains(text, line) {
			t.Errorf("the report lacks %q:\n%s", line, text)
		}
	}
}
