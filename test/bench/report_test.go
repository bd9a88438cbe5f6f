package bench

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

func testReport() *Report {
	const ours = "v1beta1 <proxied> JSON"
	return &Report{
		Options: Quick(), CPUs: 2, LoadBefore: 3, Targets: []string{ours, definition},
		EncodedBytes: map[string]int{ours: 3000, definition: 2900},
		Data:         []DataSize{{Data: "websites", Objects: 10, StoredBytes: 1234, HeapBytes: map[string]int64{"website-apiserver": 5 << 20}, ListedHeapBytes: map[string]int64{"website-apiserver": 7 << 20}}},
		Memory:       []Memory{{Round: 1, Bytes: map[string]int64{"etcd": 1 << 20}, PeakBytes: map[string]int64{"etcd": 2 << 20}}},
		Measurements: []Measurement{
			{Operation: "list 10", Target: ours, MedianMillis: 5, CPUMillis: 6, FirstByteMillis: 1, CPUMillisByProcess: map[string]float64{"etcd": 1}, BodyBytes: 100},
			{Operation: "list 10", Target: definition, MedianMillis: 10, CPUMillis: 24, BodyBytes: 100},
			{Operation: "create", Target: ours, MedianMillis: 1},
		},
	}
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	report := testReport()
	if err := report.Write(dir); err != nil {
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
	plots := testReport().plots()
	if len(plots) != 4 {
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
	// The longest bar has the whole width, the other one half of it.
	for _, want := range []string{`width="500.0"`, `width="250.0"`, "v1beta1 &lt;proxied&gt; JSON"} {
		if !strings.Contains(plots["lists-time.svg"], want) {
			t.Errorf("the plot lacks %s:\n%s", want, plots["lists-time.svg"])
		}
	}
}

func TestCompare(t *testing.T) {
	ratio := func(operation, metric string, lowest, highest float64) Range {
		return Range{Operation: operation, Metric: metric, Target: "v1beta1 <proxied> JSON", Against: definition, Min: lowest, Max: highest}
	}
	tests := map[string]struct {
		given Range
		want  Verdict
	}{
		"within the range":    {ratio("list 10", "time", 0.4, 0.6), Within},
		"above the range":     {ratio("list 10", "cpu", 0.1, 0.2), Worse},
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
	for _, name := range []string{"create", "get", "get, sequential", "patch", "server-side apply", "status update", "delete"} {
		operations[name] = true
	}
	for _, form := range listForms(Quick()) {
		operations[form.name] = true
	}
	for _, n := range Quick().Watchers {
		operations[fmt.Sprintf("event to %d watchers", n)] = true
	}
	operations[fmt.Sprintf("WatchList of %d", Quick().Objects*len(dataNamespaces))] = true
	targets := map[string]bool{
		"v1beta1 proxied JSON": true, "v1beta1 proxied protobuf": true, "v1alpha1 proxied JSON": true, "v1alpha1 proxied protobuf": true,
		"v1beta1 direct JSON": true, definition: true, builtIn: true,
	}
	metrics := map[string]bool{"time": true, "firstByte": true, "cpu": true, "bytes": true}
	for _, r := range ranges {
		if !metrics[r.Metric] || !operations[r.Operation] || !targets[r.Target] || !targets[r.Against] || r.Min <= 0 || r.Min >= r.Max {
			t.Errorf("invalid range %+v", r)
		}
	}
}
