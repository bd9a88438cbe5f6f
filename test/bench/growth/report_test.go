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
			newStage(10, 123.4, 5<<20),
			newStage(20, 99.9, 9<<20),
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

func newStage(websites int, perSecond float64, heap int64) Stage {
	s := Stage{Websites: websites}
	s.add("create, per second", perSecond)
	s.addSize("website-apiserver, live heap", heap)
	return s
}
