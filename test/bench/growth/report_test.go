package growth

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	r := &Report{
		CPUs: 2, LoadBefore: 4,
		Stages: []Stage{
			{Websites: 10, CreatePerSecond: 123.4, HeapBytes: map[string]int64{apiServer: 5 << 20}},
			{Websites: 20, CreatePerSecond: 99.9, HeapBytes: map[string]int64{apiServer: 9 << 20}},
		},
		Failure: "30 Websites: the disk is full",
	}
	dir := t.TempDir()
	markdown, err := r.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"**The machine was busy**", "| Websites | 10 | 20 |", "| create, per second | 123 | 99.9 |",
		"| website-apiserver, live heap | 5 MiB | 9 MiB |", "ended early: 30 Websites",
	} {
		if !strings.Contains(markdown, want) {
			t.Errorf("the report lacks %q:\n%s", want, markdown)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read Report
	if err := json.Unmarshal(data, &read); err != nil || len(read.Stages) != 2 {
		t.Errorf("report.json has %d stages (%v)", len(read.Stages), err)
	}
}
