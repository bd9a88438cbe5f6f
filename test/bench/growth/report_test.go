package growth

import (
	"strings"
	"testing"

	"github.com/kubesites/website-apiserver/test/bench/measure"
)

func TestReport(t *testing.T) {
	r := &Report{
		Head: measure.Head{CPUs: 2, LoadBefore: 4, Failure: "30 Websites: the disk is full"},
		Stages: []Stage{
			{Websites: 10, CreatePerSecond: 123.4, HeapBytes: map[string]int64{apiServer: 5 << 20}},
			{Websites: 20, CreatePerSecond: 99.9, HeapBytes: map[string]int64{apiServer: 9 << 20}},
		},
	}
	markdown := measure.Markdown(r)
	for _, want := range []string{
		"**The machine was busy**", "| Websites | 10 | 20 |", "| create, per second | 123 | 99.9 |",
		"| website-apiserver, live heap | 5 MiB | 9 MiB |", "ended early**, and measured what follows: 30 Websites",
	} {
		if !strings.Contains(markdown, want) {
			t.Errorf("the report lacks %q:\n%s", want, markdown)
		}
	}
}
